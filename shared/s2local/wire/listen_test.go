package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

func TestListen(t *testing.T) {
	cert, key := certificate(t)
	for _, tc := range []struct {
		name, addr, cert, key string
		want                  error // nil: any if fails, else none
		fails                 bool
	}{
		{"IPv4 loopback", "127.0.0.1:0", "", "", nil, false},
		{"localhost", "localhost:0", "", "", nil, false},
		{"every address", ":0", "", "", wire.ErrExposed, true},
		{"every IPv4 address", "0.0.0.0:0", "", "", wire.ErrExposed, true},
		{"every address with TLS", ":0", cert, key, nil, false},
		{"no such certificate", "127.0.0.1:0", "no-such-file", key, os.ErrNotExist, true},
		{"a certificate without its key", "127.0.0.1:0", cert, "", nil, true},
		{"no address", "nonsense", "", "", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := wire.Listen(t.Context(), tc.addr, tc.cert, tc.key)
			if (err != nil) != tc.fails || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("Listen(%q): err = %v; want %v, fails %t", tc.addr, err, tc.want, tc.fails)
			}
			if err == nil {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// By TLS the server speaks HTTP/2 and HTTP/1.1.
func TestServeTLS(t *testing.T) {
	cert, key := certificate(t)
	l, err := wire.Listen(t.Context(), "127.0.0.1:0", cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- wire.New(openEngine(t, engine.Options{Memory: true}), wire.Options{Token: token, Log: quiet()}).Serve(ctx, l)
	}()
	pemBytes, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pemBytes)
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

// certificate makes a certificate of 127.0.0.1 and its key, as files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private)
}
