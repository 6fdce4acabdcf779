package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/gateway"
	"agentchat/shared/route"
)

// An event is as AWS documents it for a function URL.
func TestEvent(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/v1/agents/al%2Fice/messages?a=1&a=2&b=x+y", strings.NewReader(`{"to":"bob"}`))
	r.Host = "abc.lambda-url.eu-west-1.on.aws"
	r.RemoteAddr = "203.0.113.7:4711"
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Multi": {"a", "b"}, "Cookie": {"k=1; l=2"}, "User-Agent": {"t"},
	}
	b, err := gateway.Event(r, "r1")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	context := got["requestContext"].(map[string]any)
	if at, _ := context["time"].(string); len(at) != len("19/Jul/2026:12:00:00 +0000") || context["timeEpoch"].(float64) < 1.7e12 {
		t.Errorf("time %v, timeEpoch %v", context["time"], context["timeEpoch"])
	}
	delete(context, "time")
	delete(context, "timeEpoch")
	want := map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": "/v1/agents/al%2Fice/messages", "rawQueryString": "a=1&a=2&b=x+y",
		"cookies":               []any{"k=1", "l=2"},
		"queryStringParameters": map[string]any{"a": "1,2", "b": "x y"},
		"headers": map[string]any{
			"host": "abc.lambda-url.eu-west-1.on.aws", "content-type": "application/json", "x-multi": "a,b", "cookie": "k=1; l=2", "user-agent": "t",
		},
		"requestContext": map[string]any{
			"accountId": "anonymous", "apiId": "local", "domainName": "abc.lambda-url.eu-west-1.on.aws", "domainPrefix": "local",
			"http": map[string]any{
				"method": "POST", "path": "/v1/agents/al/ice/messages", "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7", "userAgent": "t",
			},
			"requestId": "r1", "routeKey": "$default", "stage": "$default",
		},
		"body": `{"to":"bob"}`, "isBase64Encoded": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A body travels as it is only if its media type is textual for AWS, and it is text.
func TestEventBody(t *testing.T) {
	for _, row := range []struct {
		contentType, body string
		coded             bool
	}{
		{"application/json", "{}", false},
		{"Application/JSON; charset=utf-8", "{}", false},
		{"text/plain", "é", false},
		{"application/xml", "<a/>", false},
		{"application/javascript", "1", false},
		{"application/vnd.agent+json", "{}", true},
		{"application/x-www-form-urlencoded", "a=1", true},
		{"application/octet-stream", "{}", true},
		{"", "{}", true},
		{"no type", "{}", true},
		{"application/json", "\"\xff\"", true},
		{"application/octet-stream", "", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(row.body))
		r.Header.Set("Content-Type", row.contentType)
		b, err := gateway.Event(r, "r1")
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ IsBase64Encoded bool }
		if err := json.Unmarshal(b, &got); err != nil || got.IsBase64Encoded != row.coded {
			t.Errorf("%q, %q: base64 %v, %v; want %v", row.contentType, row.body, got.IsBase64Encoded, err, row.coded)
		}
	}
}

// Every path goes to the function of its family, escapes decoded within
// segments; what is nobody's goes to service, which refuses it.
func TestPaths(t *testing.T) {
	want := map[string]string{
		"/": "service", "/v1": "service", "/v1/agents/": "agents", "/v1/%61gents": "agents", "/v1/agents/a%2Fb": "agents", "//v1/agents": "service",
		"/v1/agents/a%2Finbox": "agents", "/v1/agents/a/inbox/": "service", "/v1/%zz": "service",
	}
	for _, r := range route.Table {
		want[strings.NewReplacer("{", "x", "}", "y").Replace(r.Path)] = r.Family()
	}
	for path, family := range want {
		if got := gateway.Family(path); got != family {
			t.Errorf("%s goes to %s; want %s", path, got, family)
		}
	}
}
