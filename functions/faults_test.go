package functions_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/stream/faultstream"
)

// inboxAppends gives f to the appends into inboxes while it says so.
func inboxAppends(f func() faultstream.Fault) faultstream.Chooser {
	return func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Append && strings.HasPrefix(c.Name.String(), "inbox/") {
			return f()
		}
		return faultstream.Fault{}
	}
}

// once gives one fault, after it was armed.
type once struct {
	armed atomic.Bool
	fault faultstream.Fault
}

func (o *once) choose() faultstream.Fault {
	if o.armed.CompareAndSwap(true, false) {
		return o.fault
	}
	return faultstream.Fault{}
}

// An append whose answer was lost, whether it was stored or not or comes late,
// is settled, whatever is sent: the caller is told that it was, and there is one record.
func TestSendSettlesLostAnswers(t *testing.T) {
	const messages, shares, receipts = "messages", "contact-shares", "receipts"
	tests := []struct {
		name  string
		fault faultstream.Fault
		what  string
		body  string
	}{
		{"stored", faultstream.Fault{Kind: faultstream.Stored}, messages, `{"to":"bob","text":"once"}`},
		{"lost", faultstream.Fault{Kind: faultstream.Lost}, messages, `{"to":"bob","text":"once"}`},
		{"late", faultstream.Fault{Kind: faultstream.Late, After: 1}, messages, `{"to":"bob","text":"once"}`},
		{"refused", faultstream.Fault{Kind: faultstream.Refused}, messages, `{"to":"bob","text":"once"}`},
		{"stored with an id", faultstream.Fault{Kind: faultstream.Stored}, messages, `{"to":"bob","text":"once","id":"m-1"}`},
		{"lost with an id", faultstream.Fault{Kind: faultstream.Lost}, messages, `{"to":"bob","text":"once","id":"m-1"}`},
		{"late with an id", faultstream.Fault{Kind: faultstream.Late, After: 3}, messages, `{"to":"bob","text":"once","id":"m-1"}`},
		{"a share, stored", faultstream.Fault{Kind: faultstream.Stored}, shares, `{"to":"bob","contact_id":"carol"}`},
		{"a share, lost, with an id", faultstream.Fault{Kind: faultstream.Lost}, shares, `{"to":"bob","contact_id":"carol","id":"m-1"}`},
		{"a receipt, stored with an id", faultstream.Fault{Kind: faultstream.Stored}, receipts, `{"to":"bob","message_id":"m-0","status":"read","id":"m-1"}`},
		{"a receipt, late", faultstream.Fault{Kind: faultstream.Late, After: 1}, receipts, `{"to":"bob","message_id":"m-0","status":"read"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &once{fault: tt.fault}
			w := newWorld(t, inboxAppends(o.choose))
			w.register("alice", "bob")
			w.do(http.MethodPut, "/v1/agents/alice/contacts/carol", `{"display_name":"Carol"}`)
			w.do(http.MethodPost, "/v1/agents/bob/messages", `{"to":"alice","text":"?","id":"m-0"}`)
			o.armed.Store(true)
			r := w.do(http.MethodPost, "/v1/agents/alice/"+tt.what, tt.body)
			if r.Code != http.StatusCreated {
				t.Errorf("send = %d %s; want 201", r.Code, r.Body)
			}
			w.store.LandAll()
			sent := decode[api.SendResponse](t, r)
			page := decode[api.InboxPage](t, w.do(http.MethodGet, "/v1/agents/bob/inbox", ""))
			if ds := page.Deliveries; len(ds) != 1 || ds[0].SeqNum != sent.SeqNum || string(ds[0].Envelope) != string(sent.Envelope) {
				t.Errorf("told %d %s; stored %+v", sent.SeqNum, sent.Envelope, ds)
			}
		})
	}
}

// A store that is away is 503 with Retry-After, and nothing was written; when it
// is back, all is as before.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		w := newWorld(t, func(faultstream.Call) faultstream.Fault {
			if away.Load() {
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			return faultstream.Fault{}
		})
		w.register("alice", "bob")
		key, _ := w.mint("alice")
		time.Sleep(time.Minute) // what was learnt of the registrations has aged
		away.Store(true)
		for _, call := range []struct{ name, token, method, target, body string }{
			{"send", apiToken, http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"a"}`},
			{"send with an id", apiToken, http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"a","id":"m-1"}`},
			{"inbox", apiToken, http.MethodGet, "/v1/agents/bob/inbox", ""},
			{"stream", apiToken, http.MethodGet, "/v1/agents/bob/inbox?follow=true", ""},
			{"message", apiToken, http.MethodGet, "/v1/agents/bob/messages/m-1", ""},
			{"contact", apiToken, http.MethodPut, "/v1/agents/alice/contacts/carol", `{}`},
			{"contacts", apiToken, http.MethodGet, "/v1/agents/alice/contacts", ""},
			{"history", apiToken, http.MethodGet, "/v1/agents/alice/contacts/carol/history", ""},
			{"share", apiToken, http.MethodPost, "/v1/agents/alice/contact-shares", `{"to":"bob","contact_id":"carol","id":"m-2"}`},
			{"accept", apiToken, http.MethodPost, "/v1/agents/bob/contact-shares/m-2/accept", ""},
			{"receipt", apiToken, http.MethodPost, "/v1/agents/bob/receipts", `{"to":"alice","message_id":"m-1","status":"read","id":"m-3"}`},
			{"monitor", adminToken, http.MethodGet, "/v1/monitor", ""},
			{"monitor's stream", adminToken, http.MethodGet, "/v1/monitor?follow=true", ""},
			{"register", apiToken, http.MethodPut, "/v1/agents/carol", `{}`},
			{"get", apiToken, http.MethodGet, "/v1/agents/bob", ""},
			{"list", apiToken, http.MethodGet, "/v1/agents", ""},
			{"delete", apiToken, http.MethodDelete, "/v1/agents/bob", ""},
			{"mint", apiToken, http.MethodPost, "/v1/agents/bob/keys", ""},
			{"ready", "", http.MethodGet, "/readyz", ""},
			{"a key that can't be checked", key, http.MethodGet, "/v1/whoami", ""},
		} {
			begun := time.Now()
			r := w.as(call.token, call.method, call.target, call.body, nil)
			p := decode[api.Problem](t, r)
			if r.Code != http.StatusServiceUnavailable || !p.Code.Trait().Retry || r.Header().Get("Retry-After") == "" || p.Outcome != "" {
				t.Errorf("%s = %d %s; want 503 that may be repeated", call.name, r.Code, r.Body)
			}
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("%s took %v", call.name, took)
			}
		}
		if r := w.do(http.MethodGet, "/healthz", ""); r.Code != http.StatusOK {
			t.Errorf("health = %d %s; the process lives", r.Code, r.Body)
		}
		away.Store(false)
		time.Sleep(time.Minute)
		if got := w.texts("bob"); len(got) != 0 {
			t.Errorf("inbox = %q; want nothing", got)
		}
		if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"a","id":"m-1"}`); r.Code != http.StatusCreated {
			t.Errorf("send when the store is back = %d %s", r.Code, r.Body)
		}
	})
}

// A store that takes a call and never answers holds nobody up for ever. A write
// is told to be unknown, with the id that makes its repeat harmless.
func TestStoreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		w := newWorld(t, func(c faultstream.Call) faultstream.Fault {
			switch {
			case !silent.Load():
				return faultstream.Fault{}
			case c.Op == faultstream.Append:
				return faultstream.Fault{Kind: faultstream.Late, After: -1}
			}
			return faultstream.Fault{Kind: faultstream.Slow, Delay: time.Hour}
		})
		w.register("alice", "bob")
		if r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"before"}`); r.Code != http.StatusCreated {
			t.Fatalf("send = %d %s", r.Code, r.Body)
		}
		silent.Store(true)
		begun := time.Now()
		r := w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"once"}`)
		p := decode[api.Problem](t, r)
		if r.Code != http.StatusServiceUnavailable || p.Code != api.OutcomeUnknown || p.Outcome != "unknown" || p.Retry != "same id only" ||
			p.Message == "" || r.Header().Get("Retry-After") != "" {
			t.Errorf("send = %d %v %s; want an unknown outcome with its id", r.Code, r.Header(), r.Body)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("send took %v", took)
		}
		time.Sleep(time.Minute) // registrations have aged
		for _, target := range []string{
			"/v1/agents/bob/inbox", "/v1/agents/bob/messages/m-1", "/v1/agents/bob", "/v1/agents", "/readyz",
			"/v1/agents/bob/contacts", "/v1/agents/bob/contacts/carol", "/v1/agents/bob/contacts/carol/history",
			"/v1/monitor", "/v1/monitor?agent=bob",
		} {
			begun := time.Now()
			if r := w.as(opener(target), http.MethodGet, target, "", nil); r.Code != http.StatusServiceUnavailable {
				t.Errorf("GET %s = %d %s; want 503", target, r.Code, r.Body)
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("GET %s took %v", target, took)
			}
		}
		silent.Store(false)
		w.store.LandAll()
		r = w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"once","id":"`+string(p.Message)+`"}`)
		if r.Code != http.StatusOK && r.Code != http.StatusCreated {
			t.Errorf("repeat = %d %s; want that it is sent", r.Code, r.Body)
		}
		if diff := cmp.Diff([]string{"before", "once"}, w.texts("bob")); diff != "" {
			t.Errorf("inbox (-want +got):\n%s", diff)
		}
	})
}
