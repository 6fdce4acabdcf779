package functions_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agentchat/functions"
	"agentchat/shared/apitest"
	"agentchat/shared/env"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/stream/localstream"
	"agentchat/shared/stream/s2stream"
)

// The families keep the contract with a token of S2 that may do what Scope says
// and nothing else.
func TestContractWithinScope(t *testing.T) {
	const basin, token = "scope-test", "s2-token-of-the-contract"
	request, err := s2stream.Scope(basin)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Run(t, apitest.Host{Start: func() (*apitest.Service, error) {
		log := new(apitest.Buffer)
		logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		e, err := engine.Open(engine.Options{Memory: true, Log: logger})
		if err != nil {
			return nil, err
		}
		if err := localstream.New(e, basin).Ensure(t.Context()); err != nil { // the operator's part
			return nil, err
		}
		s2 := wire.New(e, wire.Options{Token: token, Log: logger}).Handler()
		guard := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if op := operation(r); !slices.Contains(request.Scope.Ops, op) {
				t.Errorf("%s %s is %q; the scope has %q", r.Method, r.URL.Path, op, request.Scope.Ops)
				http.Error(w, `{"code":"permission_denied","message":"out of scope"}`, http.StatusForbidden)
				return
			}
			s2.ServeHTTP(w, r)
		}))
		guard.Config.Protocols = new(http.Protocols)
		guard.Config.Protocols.SetHTTP1(true)
		guard.Config.Protocols.SetUnencryptedHTTP2(true)
		guard.Start()
		store, err := s2stream.New(s2stream.Options{Token: token, Endpoint: guard.URL, Basin: basin})
		if err != nil {
			return nil, err
		}
		en, err := env.New(env.Options{
			Store:  store,
			Config: env.Config{APITokens: []string{apiToken}, AdminTokens: []string{adminToken}, Version: "test", SigningKeys: signingKeys()},
			Log:    logger,
			Sole:   true,
		})
		if err != nil {
			return nil, err
		}
		s := httptest.NewServer(functions.Handler(en))
		return &apitest.Service{
			URL: s.URL, APIToken: apiToken, AdminToken: adminToken, Log: log.String,
			Stop: func() error {
				s.Close()
				store.Close()
				guard.CloseClientConnections()
				guard.Close()
				return e.Close()
			},
		}, nil
	}})
}

// operation returns S2's name of what a request wants. An append may hold a
// fence, which S2 calls an operation of its own.
func operation(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	switch {
	case strings.HasSuffix(path, "/records/tail"):
		return "check-tail"
	case strings.HasSuffix(path, "/records") && r.Method == http.MethodPost:
		return "append"
	case strings.HasSuffix(path, "/records"):
		return "read"
	case path == "streams" && r.Method == http.MethodGet:
		return "list-streams"
	case path == "streams" && r.Method == http.MethodPost:
		return "create-stream"
	case strings.HasPrefix(path, "basins/") && r.Method == http.MethodGet:
		return "get-basin-config"
	}
	return r.Method + " " + path
}
