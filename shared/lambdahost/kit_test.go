package lambdahost_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"agentchat/shared/lambdahost"
)

// modes are both ways in which a function URL takes answers.
func modes() map[string]lambdahost.Mode {
	return map[string]lambdahost.Mode{"buffered": lambdahost.Buffered, "stream": lambdahost.Stream}
}

func host(mode lambdahost.Mode, h http.HandlerFunc) *lambdahost.Host {
	return &lambdahost.Host{
		Mode: mode, Log: slog.New(slog.DiscardHandler),
		Handler: func(context.Context) (http.Handler, error) { return h, nil },
	}
}

// An answer is what a function URL makes of what Invoke returned.
type answer struct {
	status  int
	headers map[string]string
	cookies []string
	body    string
	broken  error // the answer ended with it
}

func invoke(t testing.TB, h *lambdahost.Host, event string) answer {
	t.Helper()
	return invokeIn(t.Context(), t, h, event)
}

func invokeIn(ctx context.Context, t testing.TB, h *lambdahost.Host, event string) answer {
	t.Helper()
	v, err := h.Invoke(ctx, json.RawMessage(event))
	if err != nil {
		t.Fatalf("invoke %s: %v", event, err)
	}
	if r, ok := v.(*events.LambdaFunctionURLStreamingResponse); ok {
		defer r.Close()
		b, err := io.ReadAll(r.Body)
		return answer{r.StatusCode, r.Headers, r.Cookies, string(b), err}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %v: %v", v, err)
	}
	var r events.LambdaFunctionURLResponse
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("decode %s: %v", b, err)
	}
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			t.Fatalf("decode %s: %v", r.Body, err)
		}
	}
	return answer{r.StatusCode, r.Headers, r.Cookies, string(body), nil}
}

// event returns an event like that of a function URL, changed by each of set:
// a name, with dots between levels, and its value; nil removes it.
func event(set ...any) string {
	e := map[string]any{}
	if err := json.Unmarshal([]byte(`{"version":"2.0","routeKey":"$default","rawPath":"/v1/agents/alice/messages","rawQueryString":"",
		"headers":{"host":"abc.lambda-url.eu-west-1.on.aws","content-type":"application/json","authorization":"Bearer T"},
		"requestContext":{"accountId":"anonymous","apiId":"abc","domainName":"abc.lambda-url.eu-west-1.on.aws",
			"http":{"method":"POST","path":"/v1/agents/alice/messages","protocol":"HTTP/1.1","sourceIp":"203.0.113.7","userAgent":"t"},
			"requestId":"r1","routeKey":"$default","stage":"$default","time":"19/Jul/2026:12:00:00 +0000","timeEpoch":1784462400000},
		"body":"{\"to\":\"bob\",\"text\":\"hi\"}","isBase64Encoded":false}`), &e); err != nil {
		panic(err)
	}
	for i := 0; i < len(set); i += 2 {
		put(e, set[i].(string), set[i+1])
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func put(e map[string]any, name string, v any) {
	if first, rest, ok := cut(name); ok {
		put(e[first].(map[string]any), rest, v)
		return
	}
	if e[name] = v; v == nil {
		delete(e, name)
	}
}

func cut(name string) (first, rest string, ok bool) {
	for i := range len(name) {
		if name[i] == '.' {
			return name[:i], name[i+1:], true
		}
	}
	return name, "", false
}
