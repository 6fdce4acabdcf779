package functions_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/route"
)

// A credential opens what it is meant for and nothing else, on every route, by
// every method, for pages and streams. Who is refused is refused before the
// store is asked for anything but the credential itself, and before the body is read.
func TestAccess(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob", "gone")
	alice, _ := w.mint("alice")
	bob, _ := w.mint("bob")
	revoked, id := w.mint("alice")
	gone, _ := w.mint("gone")
	for _, target := range []string{"/v1/agents/alice/keys/" + id, "/v1/agents/gone"} {
		if r := w.do(http.MethodDelete, target, ""); r.Code != http.StatusNoContent {
			t.Fatalf("DELETE %s: %d %s", target, r.Code, r.Body)
		}
	}
	const out, no, yes = http.StatusUnauthorized, http.StatusForbidden, http.StatusBadRequest // the body is no JSON
	callers := []struct {
		name, token                     string
		any, self, operator, admin, key int
	}{
		{"nobody", "", out, out, out, out, 0},
		{"a word", "not-a-token-of-anybody", out, out, out, out, 0},
		{"part of the API token", apiToken[:len(apiToken)-1], out, out, out, out, 0},
		{"the API token and more", apiToken + "x", out, out, out, out, 0},
		{"the API token", apiToken, yes, yes, yes, no, 0},
		{"the admin token", adminToken, no, no, no, yes, 0},
		{"the agent's key", alice, yes, yes, no, no, 1},
		{"another agent's key", bob, yes, no, no, no, 1},
		{"a revoked key", revoked, out, out, out, out, 2}, // what refuses is the present state
		{"a deleted agent's key", gone, out, out, out, out, 2},
		{"a key that was never minted", alice[:len(alice)-1] + "!", out, out, out, out, 0},
	}
	for _, r := range route.Table {
		target := strings.NewReplacer("{agent}", "alice", "{contact}", "carol", "{message}", "m-1", "{key}", "k1", "{chat}", aChat, "{operation}", anOperation).Replace(r.Path)
		if r.Access == route.Party && r.Method == http.MethodGet {
			target += "?agent_id=alice"
		}
		for _, c := range callers {
			want := map[route.Access]int{route.Public: yes, route.Any: c.any, route.Self: c.self, route.Operator: c.operator, route.Admin: c.admin, route.Party: c.self}[r.Access]
			if r.Access == route.Party && r.Method != http.MethodGet {
				want = c.any // who acts is in the body, which can't be read here; see TestActors
			}
			for _, v := range variants(r) {
				before := len(w.store.Calls())
				got := w.as(c.token, v.method, target, "{", v.header)
				if got.Code != want {
					t.Errorf("%s %s %v as %s = %d %s; want %d", v.method, target, v.header, c.name, got.Code, got.Body, want)
				}
				if n := len(w.store.Calls()) - before; n > c.key {
					t.Errorf("%s %s as %s made %d calls of the store; want %d at most", v.method, target, c.name, n, c.key)
				}
			}
		}
	}
	if log := w.log.String(); slices.ContainsFunc([]string{apiToken, adminToken, alice, bob, revoked, gone}, func(s string) bool { return strings.Contains(log, s) }) {
		t.Errorf("the log holds a credential:\n%s", log)
	}
}

const (
	aChat       = "chat_0123456789abcdef0123456789abcdef"
	anOperation = "op_0123456789012345678901234567890123456789012"
)

// Where a request says who acts, a key acts as its own agent only. That is
// decided before the chat is looked up: who is refused learns nothing of it.
func TestActors(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	alice, _ := w.mint("alice")
	bob, _ := w.mint("bob")
	const position = `"expected_position":"1","token":"own_0123456789012345678901"`
	bodies := map[string]string{
		"chats.create": `"peer_id":"carol"`, "chats.claim": `"claim_id":"c"`, "chats.permit": `"state":"denied"`,
		"chats.send":        position + `,"message_id":"m","content":""`,
		"chats.acknowledge": position + `,"peerStreamId":"s","peerGeneration":"0123456789abcdef","nextPosition":"1","batchId":"b_` + anOperation[3:] + `"`,
	}
	for _, r := range route.Table {
		if r.Access != route.Party {
			continue
		}
		ask := func(token, actor string) (code, calls int) {
			t.Helper()
			target, body := strings.NewReplacer("{chat}", aChat, "{operation}", anOperation).Replace(r.Path), ""
			switch more, inBody := bodies[r.Op]; {
			case inBody:
				body = `{"agent_id":"` + actor + `",` + more + `}`
			case r.Op == "chats.operation":
				target += "?expected_position=1&agent_id=" + actor
			default:
				target += "?agent_id=" + actor
			}
			before := len(w.store.Calls())
			got := w.as(token, r.Method, target, body, nil)
			return got.Code, len(w.store.Calls()) - before
		}
		if code, calls := ask(bob, "alice"); code != http.StatusForbidden || calls > 1 {
			t.Errorf("%s for alice with bob's key = %d after %d calls of the store; want 403, and a look at the key at most", r.Op, code, calls)
		}
		want := http.StatusNotFound // the chat, or the peer
		if r.Op == "chats.list" {
			want = http.StatusOK
		}
		for _, token := range []string{alice, apiToken} {
			if code, _ := ask(token, "alice"); code != want {
				t.Errorf("%s for alice = %d; want %d", r.Op, code, want)
			}
		}
		if code, _ := ask(apiToken, ""); code != http.StatusBadRequest {
			t.Errorf("%s for nobody = %d; want 400", r.Op, code)
		}
	}
}

type variant struct {
	method string
	header http.Header
}

// variants returns the ways to call a route.
func variants(r route.Route) []variant {
	vs := []variant{{method: r.Method}}
	if r.Method == http.MethodGet {
		vs = append(vs, variant{method: http.MethodHead})
	}
	if r.Kind == route.Events {
		vs = append(vs, variant{http.MethodGet, http.Header{"Accept": {"text/event-stream"}}})
	}
	return vs
}

// Another agent's key is told the same for an agent that is there and for one
// that is not.
func TestRefusalsTellNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.register("alice", "bob")
	bob, _ := w.mint("bob")
	there := decode[api.Problem](t, w.as(bob, http.MethodGet, "/v1/agents/alice/inbox", "", nil))
	absent := decode[api.Problem](t, w.as(bob, http.MethodGet, "/v1/agents/ghost/inbox", "", nil))
	there.RequestID, absent.RequestID = "", ""
	if there.Status != http.StatusForbidden || there.Detail != absent.Detail || there.Code != absent.Code {
		t.Errorf("refused for alice with %+v, for ghost with %+v; want the same 403", there, absent)
	}
}

// A key opens everywhere as soon as it was minted, also in a process that knew
// its agent before, and registered anew; a revoked one is dead everywhere in 5 s.
func TestKeysAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		other := worldOn(t, w.store)
		w.register("alice")
		open := func(key string, want int) {
			t.Helper()
			if r := other.as(key, http.MethodGet, "/v1/whoami", "", nil); r.Code != want {
				t.Errorf("whoami = %d %s; want %d", r.Code, r.Body, want)
			}
		}
		first, id := w.mint("alice")
		open(first, http.StatusOK)
		second, _ := w.mint("alice")
		open(second, http.StatusOK)
		w.do(http.MethodDelete, "/v1/agents/alice/keys/"+id, "")
		time.Sleep(5*time.Second + time.Millisecond)
		open(first, http.StatusUnauthorized)
		open(second, http.StatusOK)
		w.do(http.MethodDelete, "/v1/agents/alice", "")
		w.register("alice")
		third, _ := w.mint("alice")
		open(third, http.StatusOK)
		open(second, http.StatusUnauthorized)
	})
}
