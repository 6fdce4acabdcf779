package lambdahost_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/gateway"
	"agentchat/shared/lambdahost"
)

// A view is what a handler sees of a request.
type view struct {
	Method, Path, RawQuery, RequestURI, Host, URLHost, Proto, Body string
	Length                                                         int64
	Header                                                         http.Header
}

func viewOf(r *http.Request) view {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	h := r.Header.Clone()
	h.Del("Content-Length") // net/http keeps it beside r.ContentLength
	return view{
		Method: r.Method, Path: r.URL.EscapedPath(), RawQuery: r.URL.RawQuery, RequestURI: r.RequestURI, Host: r.Host, URLHost: r.URL.Host,
		Proto: r.Proto, Body: string(b), Length: r.ContentLength, Header: h,
	}
}

// A handler sees of an event what it sees of the request that the event stands
// for when net/http serves it. The raw bytes go both ways: into net/http, and
// through the front that makes events.
func TestRequestIsAsOfNetHTTP(t *testing.T) {
	for _, row := range []struct{ name, request string }{
		{"plain", "GET /v1/whoami HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"body", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"},
		{"body without a media type", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"},
		{"body of bytes", "POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n\"\xff\""},
		{"repeated parameter", "GET /x?limit=5&limit=9&cursor=1+2 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"plus and %20", "GET /x?a=1+2&b=1%202&c=%2B HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"malformed escapes in the query", "GET /x?a=%zz&b=%2;c HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"empty query", "GET /x?&&= HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"encoded slash", "GET /v1/agents/al%2Fice/inbox HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"encoded dots and bytes", "GET /v1/agents/%2e%2e/%ff%0A HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"two slashes", "GET //v1//x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"encoded question mark and hash", "GET /a%3Fb%23c?d%23e HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"a header with commas", "GET /x HTTP/1.1\r\nHost: h\r\nX-Multi: a, b,c\r\nIf-None-Match: \"a,b\"\r\n\r\n"},
		{"a date", "GET /x HTTP/1.1\r\nHost: h\r\nX-Since: Mon, 30 Nov 2026 12:00:00 GMT\r\n\r\n"},
		{"cookies", "GET /x HTTP/1.1\r\nHost: h\r\nCookie: a=1; b=\"2\"\r\n\r\n"},
		{"lower-case method", "get /x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"strange method", "PURGE /x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"HEAD", "HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"port in the host", "GET /x HTTP/1.1\r\nHost: h:8080\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			want, got := bothWays(t, row.request)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("as of net/http (-), of the event (+):\n%s", diff)
			}
		})
	}
}

func bothWays(t *testing.T, request string) (local, lambda view) {
	t.Helper()
	var event []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the body: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		local = viewOf(r)
		r.Body = io.NopCloser(bytes.NewReader(b))
		if event, err = gateway.Event(r, "id"); err != nil {
			t.Errorf("make an event: %v", err)
		}
	}))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%q: %v, %v", request, resp, err)
	}
	r, err := lambdahost.Request(t.Context(), event)
	if err != nil {
		t.Fatalf("Request of %s: %v", event, err)
	}
	return local, viewOf(r)
}

// A body in base64 is decoded whatever its media type: it is treated as the plain one.
func TestBodyInBase64(t *testing.T) {
	const body = `{"to":"bob","text":"hi"}`
	for _, contentType := range []any{"application/vnd.agent+json", "application/octet-stream", "application/json", "text/plain; charset=utf-8", "", nil} {
		t.Run(fmt.Sprint(contentType), func(t *testing.T) {
			plain := event("headers.content-type", contentType, "body", body)
			coded := event("headers.content-type", contentType, "body", base64.StdEncoding.EncodeToString([]byte(body)), "isBase64Encoded", true)
			var views [2]view
			for i, e := range []string{plain, coded} {
				r, err := lambdahost.Request(t.Context(), json.RawMessage(e))
				if err != nil {
					t.Fatalf("Request of %s: %v", e, err)
				}
				views[i] = viewOf(r)
			}
			if diff := cmp.Diff(views[0], views[1]); diff != "" || views[1].Body != body || views[1].Length != int64(len(body)) {
				t.Errorf("plain (-), base64 (+): %s", diff)
			}
		})
	}
}

// The raw query string decides; only an event without one may give the parameters apart.
func TestRawQueryDecides(t *testing.T) {
	joined := map[string]string{"limit": "5,9", "cursor": "1 2"}
	for _, row := range []struct {
		name string
		set  []any
		want string
	}{
		{"both", []any{"rawQueryString", "limit=5&limit=9&cursor=1+2", "queryStringParameters", joined}, "limit=5&limit=9&cursor=1+2"},
		{"raw alone", []any{"rawQueryString", "limit=5&limit=9&cursor=1%202"}, "limit=5&limit=9&cursor=1%202"},
		{"parameters alone", []any{"rawQueryString", nil, "queryStringParameters", joined}, "cursor=1+2&limit=5%2C9"},
		{"neither", []any{"rawQueryString", nil}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := lambdahost.Request(t.Context(), json.RawMessage(event(row.set...)))
			if err != nil || r.URL.RawQuery != row.want {
				t.Errorf("query = %q, %v; want %q", r.URL.RawQuery, err, row.want)
			}
		})
	}
}

// Parts of an event that may be missing are: no headers is no credential, and
// cookies are a header whichever way they come.
func TestThinEvents(t *testing.T) {
	for _, row := range []struct {
		name string
		set  []any
		want http.Header
	}{
		{"headers null", []any{"headers", json.RawMessage("null")}, http.Header{}},
		{"no headers", []any{"headers", nil}, http.Header{}},
		{"a header null", []any{"headers", json.RawMessage(`{"authorization":null}`)}, http.Header{"Authorization": {""}}},
		{"cookies alone", []any{"headers", nil, "cookies", []string{"a=1", "b=2"}}, http.Header{"Cookie": {"a=1; b=2"}}},
		{"cookies twice", []any{"headers", map[string]string{"cookie": "a=1; b=2"}, "cookies", []string{"a=1", "b=2"}}, http.Header{"Cookie": {"a=1; b=2"}}},
		{"cookies null", []any{"headers", nil, "cookies", json.RawMessage("null")}, http.Header{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := lambdahost.Request(t.Context(), json.RawMessage(event(row.set...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, r.Header); diff != "" || r.Host != "abc.lambda-url.eu-west-1.on.aws" || r.RemoteAddr != "203.0.113.7:0" {
				t.Errorf("host %q, from %q, headers: %s", r.Host, r.RemoteAddr, diff)
			}
		})
	}
}

// What is no request of a function URL gets one 400, in both modes, and no
// handler sees it.
func TestOtherEventsAreRefused(t *testing.T) {
	for _, row := range []struct{ name, event string }{
		{"empty object", `{}`},
		{"null", `null`},
		{"array", `[]`},
		{"string", `"warm"`},
		{"number", `1`},
		{"scheduler", `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`},
		{"warmer", `{"warmer":true,"concurrency":3}`},
		{"version 1.0", `{"version":"1.0","resource":"/x","path":"/x","httpMethod":"GET","headers":{},"requestContext":{"httpMethod":"GET","path":"/x"},"body":null}`},
		{"version missing", event("version", nil)},
		{"headers of another shape", event("headers", []string{"a"})},
		{"body of another shape", event("body", map[string]string{})},
		{"no requestContext", event("requestContext", nil)},
		{"no requestContext.http", event("requestContext.http", nil)},
		{"no method", event("requestContext.http.method", "")},
		{"a method that is none", event("requestContext.http.method", "GET /")},
		{"no path", event("rawPath", nil)},
		{"a path without a slash", event("rawPath", "v1/whoami")},
		{"a path with a query", event("rawPath", "/v1/whoami?a=1")},
		{"a path that breaks the line", event("rawPath", "/v1/\r\nwhoami")},
		{"a malformed escape", event("rawPath", "/v1/%zz")},
		{"a query that breaks the line", event("rawQueryString", "a=1\r\n")},
		{"a query with a space", event("rawQueryString", "a=1 2")},
		{"a header that breaks the line", event("headers", map[string]string{"x-request-id": "a\r\nb: c"})},
		{"a header's name that is none", event("headers", map[string]string{"x y": "a"})},
		{"base64 that is none", event("body", "{}", "isBase64Encoded", true)},
	} {
		for name, mode := range modes() {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				h := host(mode, func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
				a := invoke(t, h, row.event)
				var p api.Problem
				if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.broken != nil {
					t.Fatalf("body = %q, %v, %v; want a problem document", a.body, err, a.broken)
				}
				if a.status != http.StatusBadRequest || p.Code != api.Invalid || p.RequestID == "" || a.headers["X-Request-Id"] != string(p.RequestID) {
					t.Errorf("status %d, problem %+v, headers %v; want 400 invalid under its request id", a.status, p, a.headers)
				}
			})
		}
	}
}

// Any event is a request that net/http could have read off a wire, or is refused.
func FuzzRequest(f *testing.F) {
	for _, e := range []string{
		`{}`, `null`, event(), event("rawPath", "/a%2Fb//c"), event("rawQueryString", "a=1&a=2#"), event("cookies", []string{"a=1"}),
		event("body", "AA==", "isBase64Encoded", true), event("requestContext.domainName", "a b"), event("headers", map[string]string{"HOST": "[::1"}),
	} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, e []byte) {
		r, err := lambdahost.Request(t.Context(), e)
		if err != nil {
			return
		}
		want := viewOf(r)
		var wire bytes.Buffer
		fmt.Fprintf(&wire, "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n", r.Method, r.RequestURI, len(want.Body))
		if err := r.Header.Write(&wire); err != nil {
			t.Fatalf("write the headers: %v", err)
		}
		wire.WriteString("\r\n" + want.Body)
		read, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil {
			t.Fatalf("net/http refuses what Request took: %v\n%s", err, wire.String())
		}
		if got := viewOf(read); got.Method != want.Method || got.Path != want.Path || got.RawQuery != want.RawQuery || got.Body != want.Body ||
			strings.Contains(want.Path, "?") || len(got.Header) > len(want.Header)+1 {
			t.Errorf("net/http reads %+v; Request said %+v", got, want)
		}
	})
}
