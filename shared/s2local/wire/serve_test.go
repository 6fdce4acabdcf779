package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// By TLS the server speaks HTTP/2 and HTTP/1.1.
func TestServeTLS(t *testing.T) {
	cert, roots := certificate(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := tls.NewListener(inner, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- wire.New(openEngine(t, engine.Options{Memory: true}), wire.Options{Token: token, Log: quiet()}).Serve(ctx, l)
	}()
	for _, http2 := range []bool{true, false} {
		p := new(http.Protocols)
		p.SetHTTP2(http2)
		p.SetHTTP1(!http2)
		transport := &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{RootCAs: roots}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || (resp.ProtoMajor == 2) != http2 {
			t.Errorf("health: %s by %s; want 200, HTTP/2 is %t", resp.Status, resp.Proto, http2)
		}
		_ = resp.Body.Close() // not read
		transport.CloseIdleConnections()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v; want nil", err)
	}
}

// A listener that breaks ends Serve with its error.
func TestServeWithBrokenListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := wire.New(openEngine(t, engine.Options{Memory: true}), wire.Options{Token: token, Log: quiet()})
	if err := s.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve on a closed listener: err = %v; want net.ErrClosed", err)
	}
}

// certificate makes a certificate of 127.0.0.1, and what trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
