package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentchat/shared/apitest"
)

const (
	okJSON   = "200\nX-Request-Id: r1\nContent-Type: application/json\n\n"
	missing  = `{"type":"about:blank","title":"No such path","status":404,"detail":"d","code":"not_found","request_id":"r1"}`
	notFound = "404\nX-Request-Id: r1\nContent-Type: application/problem+json\n\n"
	events   = "200\nX-Request-Id: r1\nContent-Type: text/event-stream\n\n: hello\n"
	one      = "event: envelope\nretry: 1000\ndata: {\"seq_num\":0}\nid: 1\n\n"
)

// A script passes when what it says holds, and fails, naming what was wrong,
// when it does not: a host that breaks the contract can't pass unseen.
func TestScriptsJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string // to every request that registers nobody
		script string
		want   string // in what the failure says; "" passes
	}{
		{"whole value", okJSON + `{"a": [1.0, "x"], "b":null}`, "GET /\nstatus 200\njson '' '{\"a\":[1.0,\"x\"],\"b\":null}'", ""},
		{"values by pointer", okJSON + `{"a":[1.0,"x"],"b/c":null}`, "GET /\njson /a/0 1.0\njson /a/1 x\njson /b~1c null\n! json /a/2\n! json /x\njson /a", ""},
		{"another number token", okJSON + `{"a":1.00}`, "GET /\njson /a 1.0", "json /a"},
		{"a number for a string", okJSON + `{"a":"1"}`, "GET /\njson /a 1", "json /a"},
		{"another order", okJSON + `{"b":1,"a":2}`, "GET /\njson '' '{\"a\":2,\"b\":1}'", "json "},
		{"an unexpected member", okJSON + `{"a":1}`, "GET /\n! json /a", "json /a"},
		{"a placeholder", okJSON + `{"t":"2026-07-19T12:00:00.000Z"}`, "GET /\njson /t <time>", ""},
		{"no such time", okJSON + `{"t":"2026-07-19T12:00:00Z"}`, "GET /\njson /t <time>", "json /t"},
		{"a golden body", okJSON + `{"t":"msg_00000000000070008000000000000000","n":1}`, "GET /\nbody f\n-- f --\n{\"t\": \"<message>\",\n \"n\": 1}", ""},
		{"another body", okJSON + `{"t":"x","n":1}`, "GET /\nbody f\n-- f --\n{\"t\": \"<message>\",\n \"n\": 1}", "body is not f"},
		{"bytes", okJSON + `"<&>"`, "GET /\nholds <&>\n! holds <&&>", ""},
		{"no such bytes", okJSON + `"\u003c"`, "GET /\nholds <", "holds"},
		{"a variable", okJSON + `{"a":"x y"}`, "GET /\nsave V /a\njson /a $V\njson '' '{\"a\":\"x y\"}'", ""},
		{"another status", okJSON + `{}`, "GET /\nstatus 201", "status = 200"},
		{"a header", okJSON + `{}`, "GET /\nheader Content-Type application/json\n! header Allow", ""},
		{"another header", okJSON + `{}`, "GET /\nheader Content-Type text/plain", "Content-Type ="},
		{"in time", okJSON + `{}`, "GET /\nwithin 20s\n! within 1ns", ""},
		{"too late", okJSON + `{}`, "GET /\nwithin 1ns", "it took"},
		{"beside the script", okJSON + `{"a":1}`, "begin x GET /\nfinish x\njson /a 1", ""},

		{"a problem", notFound + missing, "GET /\ncode not_found", ""},
		{"another problem", notFound + missing, "GET /\ncode forbidden", "want forbidden"},
		{"an answer for a problem", okJSON + `{}`, "GET /\ncode not_found", "want not_found"},
		{"another field", notFound + missing, "GET /\nfield /to", "want field"},
		{"another parameter", notFound + missing, "GET /\nparameter limit", "want parameter"},

		{"no request id", "200\nContent-Type: application/json\n\n{}", "GET /", "X-Request-Id"},
		{"no JSON", okJSON + `{`, "GET /", "not JSON"},
		{"JSON as text", "200\nX-Request-Id: r1\nContent-Type: text/plain\n\n{}", "GET /", "Content-Type"},
		{"a failure that is no problem", "404\nX-Request-Id: r1\nContent-Type: application/json\n\n{}", "GET /", "Content-Type"},
		{"a problem of another status", "400\nX-Request-Id: r1\nContent-Type: application/problem+json\n\n" + missing, "GET /", "status 404 in an answer of 400"},
		{"a problem of another request", notFound + strings.Replace(missing, "r1", "r2", 1), "GET /", "request_id"},
		{"a problem with a member too many", notFound + strings.Replace(missing, "{", `{"x":1,`, 1), "GET /", "problem document"},
		{"an unknown code", notFound + strings.Replace(missing, "not_found", "gone", 1), "GET /", "unknown code"},
		{"a retry that can't help", "404\nX-Request-Id: r1\nRetry-After: 1\nContent-Type: application/problem+json\n\n" + missing, "GET /", "Retry-After"},
		{"a secret", okJSON + `{"t":"the-api-token-of-the-test"}`, "GET /", "holds a secret"},
		{"a secret in the log", okJSON + `{}`, "with X-Log the-admin-token-of-the-test\nGET /", "the log holds a secret"},

		{"events", events + one + ": keep-alive\n" + "event: envelope\ndata: {\"seq_num\":4}\nid: 5\n\n", "follow f /v1/agents/bob/inbox\ncomment f hello\nevent f 1\njson /seq_num 0\nevent f\nclosed f", ""},
		{"an event that tells of a fault", events + "event: problem\ndata: " + missing + "\n\n", "follow f /v1/agents/bob/inbox\nproblem f not_found", ""},
		{"a stream that is sent away", "200\nX-Request-Id: r1\nContent-Type: text/event-stream\n\nretry: 2000\n: draining\n", "follow f /v1/agents/bob/inbox\nclosed f", ""},
		{"a refusal", notFound + missing, "follow f /v1/agents/bob/inbox\ncode not_found", ""},
		{"another id", events + one, "follow f /v1/agents/bob/inbox\nevent f 2", "id = 1; want 2"},
		{"a monitored delivery", events + "event: envelope\ndata: {\"inbox\":\"bob\",\"cursor\":\"c-1\",\"seq_num\":4}\nid: c-1\n\n", "follow f /v1/monitor\nevent f c-1", ""},
		{"an id that is not its delivery's cursor", events + "event: envelope\ndata: {\"inbox\":\"bob\",\"cursor\":\"c-1\",\"seq_num\":4}\nid: 5\n\n", "follow f /v1/monitor\nevent f", "the id"},
		{"a monitored delivery without a cursor", events + "event: envelope\ndata: {\"inbox\":\"bob\",\"seq_num\":4}\nid: 5\n\n", "follow f /v1/monitor\nevent f", "the id"},
		{"an end for an event", events, "follow f /v1/agents/bob/inbox\nevent f", "end: EOF"},
		{"an event for an end", events + one, "follow f /v1/agents/bob/inbox\nclosed f", "want its end"},
		{"an id that is not behind its delivery", events + strings.Replace(one, "id: 1", "id: 0", 1), "follow f /v1/agents/bob/inbox\nevent f", "the id"},
		{"an id that is not last", events + "event: envelope\nid: 1\ndata: {\"seq_num\":0}\n\n", "follow f /v1/agents/bob/inbox\nevent f", "behind the id"},
		{"an id of a fault", events + "event: problem\ndata: {}\nid: 1\n\n", "follow f /v1/agents/bob/inbox\nevent f", "a problem with the id"},
		{"no id", events + "event: envelope\ndata: {\"seq_num\":0}\n\n", "follow f /v1/agents/bob/inbox\nevent f", "the id"},
		{"a retry of its own", events + "retry: 1\n\n" + one, "follow f /v1/agents/bob/inbox\nevent f", "ends no event"},
		{"a comment and a blank line", events + ": x\n\n" + one, "follow f /v1/agents/bob/inbox\nevent f", "ends no event"},
		{"a comment in an event", events + "event: envelope\n: x\ndata: {\"seq_num\":0}\nid: 1\n\n", "follow f /v1/agents/bob/inbox\nevent f", "within an event"},
		{"a CR", events + strings.ReplaceAll(one, "\n", "\r\n"), "follow f /v1/agents/bob/inbox\nevent f", "a CR"},
		{"two lines of data", events + "event: envelope\ndata: {}\ndata: {}\nid: 1\n\n", "follow f /v1/agents/bob/inbox\nevent f", "a second line"},
		{"an event that only the monitor has", events + "event: gap\ndata: {}\n\n", "follow f /v1/monitor?agent=bob\nevent f", ""},
		{"the same of an inbox", events + "event: gap\ndata: {}\n\n", "follow f /v1/agents/bob/inbox\nevent f", "the event"},
		{"an unknown event", events + "event: ping\ndata: {}\n\n", "follow f /v1/agents/bob/inbox\nevent f", "the event"},
		{"no first comment", "200\nX-Request-Id: r1\nContent-Type: text/event-stream\n\n" + one, "follow f /v1/agents/bob/inbox\nevent f", "not with a comment"},
		{"a broken event", events + "event: envelope\ndata: {\"seq_num\":0}\nid: 1\n", "follow f /v1/agents/bob/inbox\nevent f", "within an event"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.txtar")
			if err := os.WriteFile(file, []byte(tt.script+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			params := apitest.Params(canned(tt.answer), filepath.Dir(file))
			r := &recorder{dir: t.TempDir()}
			r.Run("", func(r testscript.T) { testscript.RunT(r, params) })
			switch {
			case tt.want == "" && r.failed:
				t.Errorf("failed:\n%s", r.log.String())
			case tt.want != "" && !r.failed:
				t.Errorf("passed; want a failure with %q", tt.want)
			case !strings.Contains(r.log.String(), tt.want):
				t.Errorf("failed with\n%s\nwant %q", r.log.String(), tt.want)
			}
		})
	}
}

// canned is a host that registers everybody and answers all else with answer:
// a status, headers, an empty line and a body.
func canned(answer string) apitest.Host {
	head, body, _ := strings.Cut(answer, "\n\n")
	lines := strings.Split(head, "\n")
	return apitest.Host{Start: func() (*apitest.Service, error) {
		var log strings.Builder
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			log.WriteString(r.Header.Get("X-Log"))
			if r.Method == http.MethodPut {
				w.Header().Set("X-Request-Id", "r0")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, "{}")
				return
			}
			for _, line := range lines[1:] {
				name, value, _ := strings.Cut(line, ": ")
				w.Header().Set(name, value)
			}
			var status int
			fmt.Sscan(lines[0], &status)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		return &apitest.Service{
			URL: s.URL, APIToken: "the-api-token-of-the-test", AdminToken: "the-admin-token-of-the-test",
			Stop: func() error { s.Close(); return nil }, Log: log.String,
		}, nil
	}}
}

// A recorder is a testing.T whose failure is looked at.
type recorder struct {
	dir    string
	log    strings.Builder
	failed bool
}

type halt struct{}

func (r *recorder) Run(_ string, f func(testscript.T)) {
	defer func() {
		if v := recover(); v != nil && v != (halt{}) {
			panic(v)
		}
	}()
	f(r)
}
func (r *recorder) Skip(...any)     { panic(halt{}) }
func (r *recorder) Fatal(a ...any)  { r.Log(a...); r.FailNow() }
func (r *recorder) FailNow()        { r.failed = true; panic(halt{}) }
func (r *recorder) Log(a ...any)    { fmt.Fprintln(&r.log, a...) }
func (r *recorder) Parallel()       {}
func (r *recorder) Verbose() bool   { return false }
func (r *recorder) TempDir() string { return r.dir }
