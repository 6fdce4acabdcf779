package functions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"agentchat/shared/api"
)

const racers = 20

// race makes requests at the same time.
func race(w *world, f func(i int) *httptest.ResponseRecorder) []*httptest.ResponseRecorder {
	rs := make([]*httptest.ResponseRecorder, racers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range rs {
		all.Go(func() {
			<-start
			rs[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return rs
}

// count returns how many answers had each status.
func count(rs []*httptest.ResponseRecorder) map[int]int {
	n := map[int]int{}
	for _, r := range rs {
		n[r.Code]++
	}
	return n
}

// One of many who register a name at the same time makes it, and all see the same agent.
func TestRegisterRace(t *testing.T) {
	w := newWorld(t, nil)
	rs := race(w, func(int) *httptest.ResponseRecorder { return w.do(http.MethodPut, "/v1/agents/bob", "{}") })
	if n := count(rs); n[http.StatusCreated] != 1 || n[http.StatusOK] != racers-1 {
		t.Errorf("statuses %v; want 201 once, else 200", n)
	}
	first := decode[api.AgentInfo](t, rs[0])
	for _, r := range rs {
		if a := decode[api.AgentInfo](t, r); a.CreatedAt != first.CreatedAt {
			t.Errorf("created at %v and %v", a.CreatedAt, first.CreatedAt)
		}
	}
}

// One of many who send the same with one id stores it; all are told where it is.
func TestSendRace(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	rs := race(w, func(int) *httptest.ResponseRecorder {
		return w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","id":"m-1","text":"once"}`)
	})
	if n := count(rs); n[http.StatusCreated] != 1 || n[http.StatusOK] != racers-1 {
		t.Errorf("statuses %v; want 201 once, else 200", n)
	}
	for _, r := range rs {
		if s := decode[api.SendResponse](t, r); s.SeqNum != 0 {
			t.Errorf("told %s; want position 0", r.Body)
		}
	}
	if got := w.texts("bob"); len(got) != 1 {
		t.Errorf("inbox = %q; want one", got)
	}
}

// One of many who send different things with one id stores its own, wherever it
// goes; the others are refused.
func TestSendRaceOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob", "carol")
	rs := race(w, func(i int) *httptest.ResponseRecorder {
		to := []string{"bob", "carol"}[i%2]
		return w.do(http.MethodPost, "/v1/agents/alice/messages", fmt.Sprintf(`{"to":"%s","id":"m-1","text":"%d"}`, to, i))
	})
	if n := count(rs); n[http.StatusCreated] != 1 || n[http.StatusConflict] != racers-1 {
		t.Errorf("statuses %v; want 201 once, else 409", n)
	}
	if got := append(w.texts("bob"), w.texts("carol")...); len(got) != 1 {
		t.Errorf("inboxes = %q; want one message", got)
	}
}

// Whoever sends while a name is deleted is told the truth: what was
// acknowledged is there, what was refused is not.
func TestSendAndDeleteRace(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	rs := race(w, func(i int) *httptest.ResponseRecorder {
		if i == racers/2 {
			return w.do(http.MethodDelete, "/v1/agents/bob", "")
		}
		return w.do(http.MethodPost, "/v1/agents/alice/messages", fmt.Sprintf(`{"to":"bob","text":"%d"}`, i))
	})
	n := count(rs)
	if n[http.StatusNoContent] != 1 || n[http.StatusCreated]+n[http.StatusNotFound] != racers-1 {
		t.Errorf("statuses %v; want 204 once, else 201 or 404", n)
	}
	if got := w.texts("bob"); len(got) != n[http.StatusCreated] {
		t.Errorf("%d messages are there; %d were acknowledged", len(got), n[http.StatusCreated])
	}
}

// Keys that are minted at the same time are all there.
func TestMintRace(t *testing.T) {
	w := newWorld(t, nil)
	w.register("bob")
	rs := race(w, func(int) *httptest.ResponseRecorder { return w.do(http.MethodPost, "/v1/agents/bob/keys", "") })
	if n := count(rs); n[http.StatusCreated] != racers {
		t.Errorf("statuses %v; want 201", n)
	}
	if r := w.do(http.MethodGet, "/v1/agents/bob/keys", ""); len(decode[api.ListKeysResponse](t, r).Keys) != racers {
		t.Errorf("keys = %s; want %d", r.Body, racers)
	}
	for _, r := range rs {
		if got := w.as(decode[api.MintKeyResponse](t, r).Key, http.MethodGet, "/v1/whoami", "", nil); got.Code != http.StatusOK {
			t.Errorf("whoami with a minted key = %d %s", got.Code, got.Body)
		}
	}
}

// One of many who accept a share at the same time makes the contact, and all see the same.
func TestAcceptRace(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	w.do(http.MethodPut, "/v1/agents/alice/contacts/carol", `{"display_name":"Carol"}`)
	w.do(http.MethodPost, "/v1/agents/alice/contact-shares", `{"to":"bob","contact_id":"carol","id":"m-1"}`)
	rs := race(w, func(int) *httptest.ResponseRecorder {
		return w.do(http.MethodPost, "/v1/agents/bob/contact-shares/m-1/accept", "")
	})
	if n := count(rs); n[http.StatusCreated] != 1 || n[http.StatusOK] != racers-1 {
		t.Errorf("statuses %v; want 201 once, else 200", n)
	}
	for _, r := range rs {
		if r.Body.String() != rs[0].Body.String() {
			t.Errorf("told %s, and %s", rs[0].Body, r.Body)
		}
	}
	h := decode[api.ContactHistoryResponse](t, w.do(http.MethodGet, "/v1/agents/bob/contacts/carol/history", ""))
	if len(h.Events) != 1 {
		t.Errorf("%d events; want one", len(h.Events))
	}
}

// Agents that answer everything they get with a receipt come to an end.
func TestReceiptsEnd(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	w.do(http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"hi"}`)
	cursor := map[string]uint64{}
	answered, refused := 0, 0
	for moved := true; moved; {
		moved = false
		for _, agent := range []string{"alice", "bob"} {
			page := decode[api.InboxPage](t, w.do(http.MethodGet, fmt.Sprintf("/v1/agents/%s/inbox?cursor=%d", agent, cursor[agent]), ""))
			cursor[agent] = page.NextCursor
			for _, d := range page.Deliveries {
				moved = true
				var e api.Envelope
				if err := json.Unmarshal(d.Envelope, &e); err != nil {
					t.Fatal(err)
				}
				r := w.do(http.MethodPost, "/v1/agents/"+agent+"/receipts", fmt.Sprintf(`{"to":"%s","message_id":"%s","status":"processed"}`, e.From, e.ID))
				switch r.Code {
				case http.StatusCreated:
					answered++
				case http.StatusConflict:
					refused++
				default:
					t.Fatalf("receipt of %s = %d %s", e.ID, r.Code, r.Body)
				}
				if answered > 10 {
					t.Fatal("they go on for ever")
				}
			}
		}
	}
	if answered != 1 || refused != 1 {
		t.Errorf("%d receipts, and %d refused; want one each", answered, refused)
	}
}
