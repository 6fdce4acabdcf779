package serve_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
)

// reads returns an inbox that keeps the request that it was asked.
func reads(e *env.Env, got *api.InboxRequest) http.Handler {
	return inbox(e,
		func(_ context.Context, _ caller, q *api.InboxRequest) (*api.InboxPage, error) {
			*got = *q
			return &api.InboxPage{Deliveries: []api.Delivery{}}, nil
		},
		func(_ context.Context, _ caller, q *api.InboxRequest) iter.Seq2[[]sse.Event, error] {
			*got = *q
			return func(func([]sse.Event, error) bool) {}
		},
	)
}

func TestQueryIsBound(t *testing.T) {
	var got api.InboxRequest
	h := reads(newWorld(t, env.Config{}).Env, &got)
	w := do(h, http.MethodGet, "/v1/agents/alice/inbox?&cursor=18446744073709551615&limit=0&wait=20&follow=false&kind=message&from=bob&conversation_id=a%20b+c;%2B&",
		operator, "", "Last-Event-ID", "43")
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d %s", w.Code, w.Body)
	}
	cursor, limit, wait, follow, last := ^uint64(0), 0, 20, false, uint64(43)
	want := api.InboxRequest{
		Agent: "alice", Cursor: &cursor, Limit: &limit, Wait: &wait, Follow: &follow, LastEventID: &last, Kind: "message", From: "bob", ConversationID: "a b c;+",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// Whatever is not exactly a parameter of the operation is a 400 that names it.
func TestQueryRefuses(t *testing.T) {
	h := inbox(newWorld(t, env.Config{}).Env, nil, nil)
	for _, row := range []struct{ name, query, parameter string }{
		{"negative cursor", "cursor=-1", "cursor"},
		{"negative zero", "cursor=-0", "cursor"},
		{"plus", "cursor=%2B1", "cursor"},
		{"plus that is a space", "cursor=+1", "cursor"},
		{"inner space", "cursor=1+2", "cursor"},
		{"fraction", "cursor=1.5", "cursor"},
		{"exponent", "cursor=1e3", "cursor"},
		{"hexadecimal", "cursor=0x10", "cursor"},
		{"underscore", "cursor=1_0", "cursor"},
		{"Arabic digit", "cursor=%D9%A1", "cursor"},
		{"over 64 bits", "cursor=18446744073709551616", "cursor"},
		{"leading zeros", "cursor=00043", "cursor"},
		{"empty cursor", "cursor=", "cursor"},
		{"cursor without a value", "cursor", "cursor"},
		{"word for a limit", "limit=abc", "limit"},
		{"limit over 63 bits", "limit=9223372036854775808", "limit"},
		{"limit of many digits", "limit=99999999999999999999", "limit"},
		{"empty limit", "limit=", "limit"},
		{"limit behind a space", "limit=%205", "limit"},
		{"follow in capitals", "follow=TRUE", "follow"},
		{"follow as a digit", "follow=1", "follow"},
		{"empty follow", "follow=", "follow"},
		{"empty kind", "kind=", "kind"},
		{"kind that is not UTF-8", "kind=%ff", "kind"},
		{"bad agent", "from=Bob", "from"},
		{"control character", "conversation_id=a%00b", "conversation_id"},
		{"repeated", "limit=5&limit=9", "limit"},
		{"repeated alike", "limit=5&limit=5", "limit"},
		{"repeated under an escape", "limit=5&l%69mit=5", "limit"},
		{"unknown", "token=x", "token"},
		{"unknown, other case", "Cursor=1", "Cursor"},
		{"first unknown by name", "z=1&b=2&limit=3", "b"},
		{"unknown and nameless", "=1", ""},
		{"nameless before others", "x=1&=1&y=1", ""},
		{"path field in the query", "agent=bob", "agent"},
		{"header field in the query", "Last-Event-ID=4", "Last-Event-ID"},
		{"malformed escape in a value", "cursor=%2", "cursor"},
		{"malformed escape in a name", "cur%zzsor=1", "cur%zzsor"},
		{"malformed escape in what is unknown", "x=%", "x"},
		{"semicolon", "cursor=1;limit=2", "cursor"},
		{"name that is not UTF-8", "%ff=1", "\uFFFD"},
		{"long name", strings.Repeat("n", 500) + "=1", strings.Repeat("n", 64) + "..."},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, accept := range []string{"*/*", "text/event-stream"} {
				w := do(h, http.MethodGet, "/v1/agents/alice/inbox?"+row.query, operator, "", "Accept", accept)
				if p := problem(t, w); w.Code != http.StatusBadRequest || p.Code != api.Invalid || p.Parameter != row.parameter {
					t.Errorf("?%s: %d %s; want 400 invalid, parameter %q", row.query, w.Code, w.Body, row.parameter)
				} else if strings.Contains(p.Detail, ident.ErrSyntax.Error()) {
					t.Errorf("?%s: %q; want what is wrong with it, without the name that Go has for it", row.query, p.Detail)
				}
			}
		})
	}
}

// An operation without query fields takes none.
func TestNoQuery(t *testing.T) {
	h := every(newWorld(t, env.Config{}).Env, func(op string) { t.Errorf("%s was called", op) })
	if w := do(h, http.MethodGet, "/healthz?x=1", "", ""); w.Code != http.StatusBadRequest || problem(t, w).Parameter != "x" {
		t.Errorf("GET /healthz?x=1: %d %s; want 400, parameter x", w.Code, w.Body)
	}
}

func TestHeadersAreBound(t *testing.T) {
	var got api.SendRequest
	h := messages(newWorld(t, env.Config{}).Env, func(_ context.Context, _ caller, q *api.SendRequest) (*api.SendResponse, error) {
		got = *q
		return nil, nil
	}, nil)
	const body = `{"to":"bob","text":"hi"}`
	for _, row := range []struct {
		name   string
		header []string
		key    string
		trace  string
		status int
	}{
		{"none", nil, "", "", 204},
		{"both", []string{"Idempotency-Key", "k:1", "Traceparent", "00-a"}, "k:1", "00-a", 204},
		{"lower case", []string{"idempotency-key", "k:1", "traceparent", "00-a"}, "k:1", "00-a", 204},
		{"empty", []string{"Idempotency-Key", ""}, "", "", 204},
		{"bad id", []string{"Idempotency-Key", "a b"}, "", "", 400},
		{"two ids", []string{"Idempotency-Key", "a", "Idempotency-Key", "a"}, "", "", 400},
		{"two traces are one list", []string{"Traceparent", "00-a", "Traceparent", "00-b"}, "", "00-a, 00-b", 204},
	} {
		t.Run(row.name, func(t *testing.T) {
			got = api.SendRequest{}
			w := do(h, http.MethodPost, "/v1/agents/alice/messages", operator, body, row.header...)
			if w.Code != row.status || string(got.IdempotencyKey) != row.key || got.TraceParent != row.trace {
				t.Errorf("answered %d, bound %q and %q; want %d, %q and %q", w.Code, got.IdempotencyKey, got.TraceParent, row.status, row.key, row.trace)
			}
			if w.Code == 400 && problem(t, w).Parameter != "Idempotency-Key" {
				t.Errorf("answered %s; want parameter Idempotency-Key", w.Body)
			}
		})
	}
}

// Whatever a query is, it is refused with a 400, or bound to what a second
// reading of it says: nothing is dropped, joined or changed.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "cursor=1&limit=2", "a=%2", "cursor=1;limit=2", "cursor=1&cursor=2", "&&=&=", "wait=%30", "conversation_id=%e2%82%ac+x", "cursor=18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		var got api.InboxRequest
		h := reads(newWorld(t, env.Config{}).Env, &got)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/v1/agents/alice/inbox", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+operator)
		w := answer(h, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Fatalf("%q: %d %s", query, w.Code, w.Body)
		}
		if w.Code != http.StatusOK {
			return
		}
		want, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
		if err != nil {
			t.Fatalf("%q was accepted: %v", query, err)
		}
		bound := map[string][]string{}
		for name, v := range map[string]string{
			"cursor": number(got.Cursor), "limit": number(got.Limit), "wait": number(got.Wait), "follow": number(got.Follow), "kind": string(got.Kind),
			"from": string(got.From), "conversation_id": string(got.ConversationID),
		} {
			if v != "" {
				bound[name] = []string{v}
			}
		}
		if diff := cmp.Diff(map[string][]string(want), bound); diff != "" {
			t.Errorf("%q (-said +bound):\n%s", query, diff)
		}
	})
}

// FuzzHeader holds that a header value is taken exactly or refused by name.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "43", "043", " 43", "msg_1", "a\x00b", "18446744073709551616"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var got api.InboxRequest
		h := reads(newWorld(t, env.Config{}).Env, &got)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/v1/agents/alice/inbox", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Authorization"] = []string{"Bearer " + operator}
		r.Header["Last-Event-Id"] = []string{value}
		w := answer(h, r)
		switch want, err := strconv.ParseUint(value, 10, 64); {
		case value == "":
			if w.Code != http.StatusOK || got.LastEventID != nil {
				t.Errorf("empty header: %d, %v; want it taken for none", w.Code, got.LastEventID)
			}
		case w.Code == http.StatusOK && (err != nil || got.LastEventID == nil || *got.LastEventID != want || strconv.FormatUint(want, 10) != value):
			t.Errorf("%q was bound to %v", value, number(got.LastEventID))
		case w.Code != http.StatusOK && problem(t, w).Parameter != "Last-Event-ID":
			t.Errorf("%q: %d %s; want the header named", value, w.Code, w.Body)
		}
	})
}

func number[T uint64 | int | bool](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}
