package apitest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// patience is how long a script waits for anything: long, as test machines are slow.
const patience = 30 * time.Second

// A script is one that runs. Its commands run one after the other; only begin
// and the readers of streams leave something running, which ends with ctx.
type script struct {
	ctx     context.Context // kept because testscript's commands take none; it ends with the script
	service *Service
	client  *http.Client

	who     string
	keys    map[string]string // by agent: minted on first use
	extra   []pair            // headers of the next request
	last    *answer
	pending map[string]chan outcome
	streams map[string]*stream

	mu      sync.Mutex
	secrets []string // what no answer and no log may hold
}

type pair struct {
	name, value string
	absent      bool // as it was given no value
}

type scriptKey struct{}

// of returns the script that ts runs.
func of(ts *testscript.TestScript) *script {
	s, _ := ts.Value(scriptKey{}).(*script)
	return s
}

func setup(e *testscript.Env, h Host) error {
	service, err := h.Start()
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!h.HTTP2)
	transport.Protocols.SetUnencryptedHTTP2(h.HTTP2)
	s := &script{
		ctx:     ctx,
		service: service,
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		who:     "operator",
		keys:    make(map[string]string),
		secrets: []string{service.APIToken, service.AdminToken},
		pending: make(map[string]chan outcome),
		streams: make(map[string]*stream),
	}
	e.Values[scriptKey{}] = s
	e.Setenv("TOKEN", service.APIToken)
	e.Setenv("ADMIN", service.AdminToken)
	e.Defer(func() {
		cancel()
		transport.CloseIdleConnections()
		if err := s.end(); err != nil {
			e.T().Log(err)
			e.T().FailNow()
		}
	})
	for _, id := range registered() {
		if a := s.as("operator", http.MethodPut, route.Of("agents.register"), api.RegisterRequest{Agent: id}, "{}"); a.err != nil || a.status != http.StatusCreated {
			return fmt.Errorf("register %s: %w", id, a.failure())
		}
	}
	return nil
}

// end stops the service and looks for secrets in its log.
func (s *script) end() error {
	var err error
	if s.service.Stop != nil {
		err = s.service.Stop()
	}
	if s.service.Log == nil {
		return err
	}
	log := s.service.Log()
	if strings.Contains(log, "panic") {
		err = errors.Join(err, fmt.Errorf("the service panicked:\n%s", log))
	}
	return errors.Join(err, s.leak("the log", log))
}

// leak returns an error if text, found in place, holds a secret.
func (s *script) leak(place, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.secrets {
		if strings.Contains(text, secret) {
			return fmt.Errorf("%s holds a secret:\n%s", place, strings.ReplaceAll(text, secret, "<SECRET>"))
		}
	}
	return nil
}

// as makes one request as who, apart from the script's own.
func (s *script) as(who, method string, r route.Route, req any, body string) outcome {
	target, err := r.Target(req)
	if err != nil {
		return outcome{err: err}
	}
	asked, extra := s.who, s.extra
	s.who, s.extra = who, nil
	defer func() { s.who, s.extra = asked, extra }()
	hr, err := s.request(s.ctx, method, target, []byte(body))
	if err != nil {
		return outcome{err: err}
	}
	return s.do(hr)
}

// forged is an agent key in good form that was never minted.
const forged = "ak_mallory~0123456789abcdef~AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// credential returns what s.who shows, "" for nothing.
func (s *script) credential() (string, error) {
	switch s.who {
	case "operator":
		return s.service.APIToken, nil
	case "admin":
		return s.service.AdminToken, nil
	case "nobody":
		return "", nil
	case "mallory":
		return forged, nil
	}
	if key, ok := s.keys[s.who]; ok {
		return key, nil
	}
	agent := ident.Agent(s.who)
	a := s.as("operator", http.MethodPost, route.Of("agents.mint_key"), api.AgentPath{Agent: agent}, "")
	if a.err != nil || a.status != http.StatusCreated {
		return "", fmt.Errorf("mint a key for %s: %w", agent, a.failure())
	}
	key, err := stringAt(a.body, "/key")
	if err != nil {
		return "", err
	}
	s.keys[s.who] = key
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, key)
	return key, nil
}
