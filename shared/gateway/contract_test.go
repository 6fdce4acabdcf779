package gateway_test

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agentchat/shared/apitest"
	"agentchat/shared/env"
	"agentchat/shared/gateway"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/signed"
	"agentchat/shared/stream/localstream"
)

const (
	apiToken   = "api-token-of-the-contract"
	adminToken = "admin-token-of-the-contract"
	s2Token    = "s2-token-of-the-contract"
	basin      = "agent-chat"
)

// The bootstraps that would be deployed keep the contract: each in processes of
// its own, on S2's API, behind function URLs.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the functions, which no race detector watches")
	}
	dir := bootstraps(t)
	apitest.Run(t, apitest.Host{Start: func() (*apitest.Service, error) {
		s, err := start(dir)
		if err != nil {
			return nil, err
		}
		return &apitest.Service{
			URL: s.front.URL, APIToken: apiToken, AdminToken: adminToken, Settle: 5 * time.Second, Log: s.log.String, Stop: s.stop,
		}, nil
	}})
}

// A service is every family behind a gateway, on a store in memory.
type service struct {
	front *httptest.Server
	log   *apitest.Buffer
	stop  func() error
}

// start starts a service of the bootstraps in dir, each changed by change.
func start(dir string, change ...func(name string, f *gateway.Function)) (*service, error) {
	s := &service{log: new(apitest.Buffer)}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s2, stopS2, err := startS2(log)
	if err != nil {
		return nil, err
	}
	keys, err := signed.NewSet(time.Now())
	if err != nil {
		return nil, err
	}
	fs, err := gateway.Bootstraps(dir, env.SigningKeys+"="+string(keys.Private()),
		env.APIToken+"="+apiToken, env.AdminToken+"="+adminToken, env.S2Token+"="+s2Token, env.S2Endpoint+"="+s2, env.Basin+"="+basin)
	if err != nil {
		stopS2()
		return nil, err
	}
	for name, f := range fs {
		for _, c := range change {
			c(name, &f)
		}
		fs[name] = f
	}
	g := gateway.New(gateway.Options{Functions: fs, Log: log, Output: s.log})
	s.front = httptest.NewServer(g)
	s.stop = func() error {
		g.Close() // before the front, which waits for requests in progress
		s.front.Close()
		stopS2()
		return nil
	}
	return s, nil
}

// startS2 serves the S2 API on loopback over a store in memory.
func startS2(log *slog.Logger) (url string, stop func(), err error) {
	e, err := engine.Open(engine.Options{Memory: true, Log: log})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := localstream.New(e, basin).Ensure(ctx); err != nil {
		cancel()
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- wire.New(e, wire.Options{Token: s2Token, Log: log}).Serve(ctx, l) }()
	return "http://" + l.Addr().String(), func() {
		cancel()
		<-ended
		_ = e.Close()
	}, nil
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../build/lambda-test")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("../../scripts/bootstraps", dir, "host").CombinedOutput()
	if err != nil {
		return "", &buildError{err, out}
	}
	return filepath.Join(dir, "host"), nil
})

type buildError struct {
	err error
	out []byte
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + string(e.out) }

// bootstraps builds the functions, once, for this machine.
func bootstraps(t testing.TB) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
