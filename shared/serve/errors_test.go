package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/stream"
)

// answerWith returns a family whose operations fail with err.
func answerWith(w *world, err error) http.Handler {
	return messages(w.Env,
		func(context.Context, caller, *api.SendRequest) (*api.SendResponse, error) { return nil, err },
		func(context.Context, caller, *api.GetMessageRequest) (*api.Delivery, error) { return nil, err },
	)
}

func get(h http.Handler) (code int, header http.Header, body string) {
	w := do(h, http.MethodGet, "/v1/agents/alice/messages/m1", operator, "")
	return w.Code, w.Header(), w.Body.String()
}

// Every code there is comes out with its status, and with Retry-After exactly
// where a repeat may succeed.
func TestProblems(t *testing.T) {
	for _, c := range api.Codes() {
		t.Run(string(c), func(t *testing.T) {
			w := newWorld(t, env.Config{})
			refusal := api.Errorf(c, "because")
			refusal.First = new(uint64(1))
			got := do(answerWith(w, fmt.Errorf("wrapped: %w", refusal)), http.MethodGet, "/v1/agents/alice/messages/m1", operator, "")
			p, trait := problem(t, got), c.Trait()
			if got.Code != trait.Status || p.Code != c || p.Detail != "because" || p.Title != trait.Title || p.Type != "about:blank" {
				t.Errorf("answered %d %s; want %d with code, title and detail", got.Code, got.Body, trait.Status)
			}
			if retry := got.Header().Get("Retry-After"); (retry != "") != trait.Retry {
				t.Errorf("Retry-After = %q; want one: %v", retry, trait.Retry)
			}
			if (p.Outcome == "unknown") != trait.Unknown {
				t.Errorf("outcome = %q; want unknown: %v", p.Outcome, trait.Unknown)
			}
			if got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control = %q; want no-store", got.Header().Get("Cache-Control"))
			}
			if line := w.lines(t)[0]; line["code"] != string(c) || line["level"] != map[bool]string{true: "ERROR", false: "INFO"}[trait.Status >= 500] {
				t.Errorf("logged %v; want the code, and an error if it is ours", line)
			}
		})
	}
}

// What a store's error means to the caller depends on whether the operation
// could have written.
func TestForeignErrors(t *testing.T) {
	const cause = "the cause, which is nobody's business"
	for _, row := range []struct {
		name        string
		err         error
		read, write api.Code
	}{
		{"unavailable", stream.ErrUnavailable, api.Unavailable, api.Unavailable},
		{"unknown", stream.ErrUnknown, api.OutcomeUnknown, api.OutcomeUnknown},
		{"corrupt", stream.ErrCorrupt, api.StateLost, api.StateLost},
		{"deadline", context.DeadlineExceeded, api.Unavailable, api.OutcomeUnknown},
		{"cancelled", context.Canceled, api.Unavailable, api.OutcomeUnknown},
		{"anything", errors.New("disk"), api.Internal, api.Internal},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, env.Config{})
			h := answerWith(w, fmt.Errorf("%s: %w", cause, row.err))
			r := do(h, http.MethodGet, "/v1/agents/alice/messages/m1", operator, "")
			s := do(h, http.MethodPost, "/v1/agents/alice/messages", operator, `{"to":"bob","text":"hi"}`)
			if got := problem(t, r).Code; got != row.read {
				t.Errorf("reading: %s; want %s", got, row.read)
			}
			if got := problem(t, s).Code; got != row.write {
				t.Errorf("writing: %s; want %s", got, row.write)
			}
			if strings.Contains(r.Body.String()+s.Body.String(), cause) {
				t.Errorf("the client was told the cause: %s %s", r.Body, s.Body)
			}
			for _, line := range w.lines(t) {
				if e, _ := line["error"].(string); !strings.Contains(e, cause) {
					t.Errorf("logged %v; want the cause", line)
				}
			}
		})
	}
}

// A client that left is not a fault of ours.
func TestCancelledByTheClient(t *testing.T) {
	w := newWorld(t, env.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	h := messages(w.Env, nil, func(ctx context.Context, _ caller, _ *api.GetMessageRequest) (*api.Delivery, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	doContext(ctx, h, "/v1/agents/alice/messages/m1")
	if line := w.lines(t)[0]; line["level"] != "INFO" || line["ended"] != "client" {
		t.Errorf("logged %v; want an ordinary line that says the client left", line)
	}
}

func TestPanic(t *testing.T) {
	w := newWorld(t, env.Config{})
	h := messages(w.Env, nil, func(context.Context, caller, *api.GetMessageRequest) (*api.Delivery, error) { panic("boom") })
	code, _, body := get(h)
	if code != http.StatusInternalServerError || !strings.Contains(body, `"code":"internal"`) || strings.Contains(body, "boom") {
		t.Errorf("answered %d %s; want a 500 that does not tell", code, body)
	}
	if e, _ := w.lines(t)[0]["error"].(string); !strings.Contains(e, "boom") || !strings.Contains(e, "serve_test.TestPanic") {
		t.Errorf("logged %q; want the panic and where it was", e)
	}
	if code, _, _ := get(h); code != http.StatusInternalServerError {
		t.Errorf("the next call answered %d; want the same", code)
	}
}

func TestAbortHandlerAborts(t *testing.T) {
	h := messages(newWorld(t, env.Config{}).Env, nil, func(context.Context, caller, *api.GetMessageRequest) (*api.Delivery, error) {
		panic(http.ErrAbortHandler)
	})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
			t.Errorf("panicked with %v; want http.ErrAbortHandler", v)
		}
	}()
	get(h)
}

// Secrets in all the places where clients put them are in no log and in no answer.
func TestSecretsStayOut(t *testing.T) {
	const secret = "s3cret-s3cret-s3cret"
	w := newWorld(t, env.Config{Origins: []string{app}})
	h := every(w.Env, func(string) { panic("with " + "a stack") })
	for _, target := range []string{
		"/v1/agents/alice/inbox?token=" + secret, "/v1/agents/alice/inbox?api_key=" + secret, "/v1/agents/" + secret + "%00/inbox", "/" + secret,
		"/v1/whoami?" + "cursor=" + secret, "/healthz",
	} {
		for _, authorization := range []string{"", "Bearer " + secret, "Bearer " + operator, "Basic " + secret, "Bearer  " + operator} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				got := do(h, method, target, "", `{"to":"`+secret+`"}`, "Authorization", authorization, "X-Api-Key", secret, "Origin", secret)
				for _, s := range []string{secret, operator} {
					if strings.Contains(got.Body.String(), s) {
						t.Errorf("%s %s answered %s", method, target, got.Body)
					}
				}
			}
		}
	}
	for _, s := range []string{secret, operator} {
		if strings.Contains(w.log.String(), s) {
			t.Errorf("the log has %q: %s", s, w.log.String())
		}
	}
}
