package serve_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/env"
)

const sendPath = "/v1/agents/alice/messages"

// sink returns a messages family that counts what it was sent.
func sink(e *env.Env, got *[]api.SendRequest) http.Handler {
	return messages(e, func(_ context.Context, _ caller, q *api.SendRequest) (*api.SendResponse, error) {
		*got = append(*got, *q)
		return nil, nil
	}, nil)
}

// Bodies that are no request are refused with the code that says why, and the
// operation never sees them.
func TestBodyRefuses(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, `{"to":"bob","text":"hi"}`)
	z.Close()
	const good = `{"to":"bob","text":"hi"}`
	for _, row := range []struct {
		name, body string
		header     []string
		status     int
		code       api.Code
	}{
		{"empty", "", nil, 400, api.InvalidJSON},
		{"null", "null", nil, 400, ""},
		{"array", "[]", nil, 400, ""},
		{"string", `"x"`, nil, 400, ""},
		{"junk behind", good + " x", nil, 400, api.InvalidJSON},
		{"second value", good + good, nil, 400, api.InvalidJSON},
		{"byte-order mark", "\xef\xbb\xbf" + good, nil, 400, api.InvalidJSON},
		{"unknown member", `{"to":"bob","Text":"hi"}`, nil, 400, api.UnknownField},
		{"repeated member", `{"to":"bob","to":"eve","text":"hi"}`, nil, 400, api.RepeatedField},
		{"null recipient", `{"to":null,"text":"a"}`, nil, 400, api.Invalid},
		{"path field in the body", `{"to":"bob","text":"a","agent":"eve"}`, nil, 400, api.UnknownField},
		{"not UTF-8", "{\"to\":\"bob\",\"text\":\"a\xff\"}", nil, 400, api.InvalidJSON},
		{"gzip", zipped.String(), []string{"Content-Encoding", "gzip"}, 415, api.UnsupportedMediaType},
		{"encoding with a plain body", good, []string{"Content-Encoding", "br"}, 415, api.UnsupportedMediaType},
		{"text", good, []string{"Content-Type", "text/plain"}, 415, api.UnsupportedMediaType},
		{"form", good, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, api.UnsupportedMediaType},
		{"octets", good, []string{"Content-Type", "application/octet-stream"}, 415, api.UnsupportedMediaType},
		{"two media types", good, []string{"Content-Type", "application/json", "Content-Type", "text/plain"}, 415, api.UnsupportedMediaType},
		{"malformed media type", good, []string{"Content-Type", "application/json; charset"}, 415, api.UnsupportedMediaType},
		{"other charset", good, []string{"Content-Type", "application/json; charset=utf-16"}, 415, api.UnsupportedMediaType},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []api.SendRequest
			w := do(sink(newWorld(t, env.Config{}).Env, &got), http.MethodPost, sendPath, operator, row.body, row.header...)
			p := problem(t, w)
			if w.Code != row.status || row.code != "" && p.Code != row.code {
				t.Errorf("answered %d %s; want %d %s", w.Code, w.Body, row.status, row.code)
			}
			if len(got) > 0 {
				t.Errorf("the operation got %+v", got)
			}
			if strings.Contains(w.Body.String(), "\x1f\x8b") {
				t.Errorf("the body was echoed: %q", w.Body)
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	for _, header := range [][]string{
		nil,
		{"Content-Type", ""},
		{"Content-Type", "application/json"},
		{"Content-Type", "Application/JSON; Charset=UTF-8"},
		{"Content-Type", "application/vnd.agent+json"},
		{"Content-Type", "application/json;v=1"},
		{"Content-Encoding", "identity"},
		{"Content-Encoding", ""},
	} {
		var got []api.SendRequest
		w := do(sink(newWorld(t, env.Config{}).Env, &got), http.MethodPost, sendPath, operator, `{"to":"bob","text":"hi"}`, header...)
		if w.Code != http.StatusNoContent || len(got) != 1 || got[0].To != "bob" {
			t.Errorf("%q: %d %s; want the body taken", header, w.Code, w.Body)
		}
	}
}

// An operation without a body takes none, or an empty object.
func TestNoBody(t *testing.T) {
	for body, want := range map[string]int{"": 200, "{}": 200, " {} ": 200, "null": 400, "x": 400, `{"a":1}`: 400, "[]": 400} {
		for _, target := range []string{"POST /v1/agents/alice/keys", "GET /v1/agents/alice", "DELETE /v1/agents/alice", "GET /healthz"} {
			method, path, _ := strings.Cut(target, " ")
			w := do(every(newWorld(t, env.Config{}).Env, func(string) {}), method, path, operator, body)
			if w.Code != want {
				t.Errorf("%s with %q: %d %s; want %d", target, body, w.Code, w.Body, want)
			}
			if want == 400 && !strings.Contains(problem(t, w).Detail, "no body") {
				t.Errorf("%s with %q: %s; want it said that there is no body", target, body, w.Body)
			}
		}
	}
}

// The limit is counted on what comes, whatever was declared and whatever it is;
// the connection is then of use again, or closed cleanly.
func TestBodyLimit(t *testing.T) {
	var got []api.SendRequest
	srv := httptest.NewServer(sink(newWorld(t, env.Config{}).Env, &got))
	defer srv.Close()
	exact := func(n int) string {
		const head, tail = `{"to":"bob","text":"hi"`, "}"
		return head + strings.Repeat(" ", n-len(head)-len(tail)) + tail
	}
	for _, row := range []struct {
		name, body, contentType string
		want                    int
	}{
		{"at the limit", exact(api.MaxBodyBytes), "application/json", 204},
		{"one over", exact(api.MaxBodyBytes + 1), "application/json", 413},
		{"far over", exact(8 << 20), "application/json", 413},
		{"over and no JSON", "x" + strings.Repeat("y", 800_000), "application/json", 413},
		{"over and of another type", exact(api.MaxBodyBytes + 1), "text/plain", 413},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", row.name, chunked), func(t *testing.T) {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				length := fmt.Sprintf("Content-Length: %d", len(row.body))
				body := row.body
				if chunked {
					length = "Transfer-Encoding: chunked"
					body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(row.body), row.body)
				}
				go func() {
					// A server that has answered may close before it has read all.
					_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%s\r\n\r\n%s",
						sendPath, operator, row.contentType, length, body)
				}()
				r := bufio.NewReader(conn)
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatalf("no answer: %v", err)
				}
				answer, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != row.want {
					t.Fatalf("answered %d %s, %v; want %d", resp.StatusCode, answer, err, row.want)
				}
				if row.want == 413 && !strings.Contains(string(answer), `"code":"body_too_large"`) {
					t.Errorf("answered %s; want body_too_large", answer)
				}
				if row.want == 204 && resp.Close {
					t.Error("the connection is closed after a body within the limit")
				}
			})
		}
	}
	if len(got) != 2 {
		t.Errorf("the operation ran %d times; want 2", len(got))
	}
}

// A client that asks first is spared a body that is too large.
func TestBodyLimitIsToldBeforeTheBody(t *testing.T) {
	var got []api.SendRequest
	srv := httptest.NewServer(sink(newWorld(t, env.Config{}).Env, &got))
	defer srv.Close()
	status := rawStatus(t, srv.Listener.Addr().String(), fmt.Sprintf(
		"POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", sendPath, operator, api.MaxBodyBytes+1))
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d; want 413 and no 100", status)
	}
}

// A body that breaks off is a 400, and nothing of it is used.
func TestBodyBreaksOff(t *testing.T) {
	var got []api.SendRequest
	srv := httptest.NewServer(sink(newWorld(t, env.Config{}).Env, &got))
	defer srv.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Length: 50\r\n\r\n%s",
		sendPath, operator, `{"to":"bob","text":"hi"}`); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || len(got) > 0 {
		t.Errorf("answered %d, operation got %+v; want 400 and nothing", resp.StatusCode, got)
	}
}
