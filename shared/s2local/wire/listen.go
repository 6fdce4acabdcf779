package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// ErrExposed is what Listen gives for an address that others can reach, where
// the token and all records would travel in plain text.
var ErrExposed = errors.New("only a loopback address can be served without TLS")

// Listen returns a listener on addr for Serve: with TLS if there are files of a
// certificate and its key in PEM, and else on a loopback address only.
func Listen(ctx context.Context, addr, certFile, keyFile string) (net.Listener, error) {
	var config *tls.Config
	if certFile != "" || keyFile != "" {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load the TLS certificate: %w", err)
		}
		config = &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"},
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if config != nil {
		return tls.NewListener(l, config), nil
	}
	// What was bound decides: a name may mean any address.
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", addr, ErrExposed), l.Close())
	}
	return l, nil
}
