package functions_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"agentchat/functions"
	"agentchat/shared/apitest"
	"agentchat/shared/env"
	"agentchat/shared/signed"
	"agentchat/shared/stream/localstream"
)

const (
	apiToken   = "api-token-of-the-contract"
	adminToken = "admin-token-of-the-contract"
)

// The families keep the contract when they are called in process.
func TestContract(t *testing.T) {
	apitest.Run(t, apitest.Host{Start: start})
}

// start serves all families on loopback, on a store in memory.
func start() (*apitest.Service, error) {
	store, closeStore := localstream.Memory()
	log := new(apitest.Buffer)
	e, err := env.New(env.Options{
		Store:  store,
		Config: env.Config{APITokens: []string{apiToken}, AdminTokens: []string{adminToken}, Version: "test", SigningKeys: signingKeys()},
		Log:    slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Sole:   true,
	})
	if err != nil {
		closeStore()
		return nil, err
	}
	s := httptest.NewServer(functions.Handler(e))
	return &apitest.Service{
		URL: s.URL, APIToken: apiToken, AdminToken: adminToken, Log: log.String,
		Stop: func() error { s.Close(); closeStore(); return nil },
	}, nil
}

// signingKeys returns new keys of signed chats.
func signingKeys() *signed.Set {
	keys, err := signed.NewSet(time.Now())
	if err != nil {
		panic(err) // no randomness
	}
	return keys
}
