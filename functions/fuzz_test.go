package functions_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
)

// Whatever is asked, the answer is JSON, a failure is the caller's and says so,
// and the process lives.
func FuzzRequest(f *testing.F) {
	send := `{"to":"bob","text":"a","data":{"n":1.0},"metadata":{"k":"v"},"id":"m-1"}`
	f.Add("POST", "/v1/agents/alice/messages", "Idempotency-Key", "m-1", send)
	f.Add("POST", "/v1/agents/alice/messages", "Content-Type", "application/json; charset=utf-8", `{"to":"bob","data":[[[["\ud83d\ude00"]]]]}`)
	f.Add("PUT", "/v1/agents/erin", "traceparent", "00-1-1-1", `{"labels":{"a":"b"},"capabilities":["c"],"protocol_versions":["1.0.0"]}`)
	f.Add("GET", "/v1/agents?limit=2&cursor=bob", "Accept", "*/*", "")
	f.Add("GET", "/v1/agents/al%2Fice/inbox?cursor=1&limit=%zz", "Last-Event-ID", "18446744073709551616", "")
	f.Add("GET", "/v1/agents/bob/messages/m-1?from=alice&at=0", "X-Request-Id", "a b", "")
	f.Add("DELETE", "/v1/agents/bob/keys/k1", "Content-Encoding", "gzip", "{}")
	f.Add("HEAD", "/v1/agents/../limits", "Authorization", "Bearer x", "")
	f.Add("PATCH", "//v1/whoami", "X-API-Key", "y", "null")
	f.Add("PUT", "/v1/agents/alice/contacts/carol", "Content-Type", "text/plain", `{"id":"carol","endpoint":"http://h/","labels":{"a":"b"}}`)
	f.Add("GET", "/v1/agents/alice/contacts?label.a=b&capability=c&cursor=carol", "Accept", "*/*", "")
	f.Add("GET", "/v1/agents/alice/contacts/carol/history?cursor=1&limit=2", "Accept", "*/*", "")
	f.Add("POST", "/v1/agents/alice/contact-shares", "Idempotency-Key", "m-2", `{"to":"bob","contact_id":"carol"}`)
	f.Add("POST", "/v1/agents/bob/contact-shares/m-2/accept?from=alice&at=1", "Accept", "*/*", `{"as":"carol-2","replace":true}`)
	f.Add("POST", "/v1/agents/bob/receipts", "traceparent", "00-1-1-1", `{"to":"alice","message_id":"m-1","status":"read","seq_num":0}`)
	w := newWorld(f, nil)
	w.register("alice", "bob")
	f.Fuzz(func(t *testing.T, method, target, name, value, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || strings.Contains(strings.ToLower(target), "follow") || strings.Contains(strings.ToLower(value), "event-stream") || strings.Contains(target, "wait") {
			t.Skip("no request, or one that lasts")
		}
		r, err := http.NewRequestWithContext(t.Context(), method, "http://a/", strings.NewReader(body))
		if err != nil {
			t.Skip("no request")
		}
		r.URL = u
		r.Header = http.Header{"Authorization": {"Bearer " + apiToken}, http.CanonicalHeaderKey(name): {value}}
		begun := time.Now()
		rec := w.serveOnce(r)
		if rec.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s = %d %s", method, target, rec.Code, rec.Body)
		}
		if rec.Code >= http.StatusBadRequest && method != http.MethodHead {
			var p api.Problem
			if err := json.Unmarshal(rec.Body.Bytes(), &p, json.RejectUnknownMembers(true)); err != nil || p.Status != rec.Code || p.Detail == "" {
				t.Errorf("%s %s = %d %s, %v; want a problem document", method, target, rec.Code, rec.Body, err)
			}
		} else if rec.Body.Len() > 0 && !jsontext.Value(rec.Body.Bytes()).IsValid() {
			t.Errorf("%s %s = %d %q; want JSON", method, target, rec.Code, rec.Body)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s %s took %v", method, target, took)
		}
	})
}
