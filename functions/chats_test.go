package functions_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/functions"
	"agentchat/shared/api"
	"agentchat/shared/apitest"
	"agentchat/shared/env"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// configured is a world whose server is told more than its tokens.
func configured(t *testing.T, change func(*env.Config)) *world {
	t.Helper()
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	w := &world{t: t, store: faultstream.New(t, inner, faultstream.Options{}), log: new(apitest.Buffer)}
	c := env.Config{APITokens: []string{apiToken}, SigningKeys: signingKeys()}
	change(&c)
	e, err := env.New(env.Options{Store: w.store, Config: c, Log: slog.New(slog.NewJSONHandler(w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = functions.Handler(e)
	return w
}

// Where agent keys are required, nothing is written to a chat with the API
// token; reading, creating and tightening the policy go on.
func TestChatsTakeAgentKeys(t *testing.T) {
	w := configured(t, func(c *env.Config) { c.AgentKeys = true })
	w.register("alice", "bob")
	alice, _ := w.mint("alice")
	id := string(decode[api.Chat](t, w.do(http.MethodPost, "/v1/chats", `{"agent_id":"alice","peer_id":"bob"}`)).ID)
	claim := decode[api.ClaimResponse](t, w.as(alice, http.MethodPost, "/v1/chats/"+id+"/claim", `{"agent_id":"alice"}`, nil))
	const batch = "b_0123456789012345678901234567890123456789012"
	for _, c := range []struct {
		token, method, path, body string
		want                      int
	}{
		{apiToken, http.MethodPost, "/claim", `{"agent_id":"bob"}`, http.StatusForbidden},
		{apiToken, http.MethodPost, "/messages", `{"agent_id":"alice","token":"` + string(claim.Token) + `","expected_position":"3","message_id":"m","content":"x"}`, http.StatusForbidden},
		{apiToken, http.MethodPost, "/receipts", `{"agent_id":"alice","token":"` + string(claim.Token) + `","expected_position":"3","peerStreamId":"s","peerGeneration":"0123456789abcdef","nextPosition":"1","batchId":"` + batch + `"}`, http.StatusForbidden},
		{apiToken, http.MethodPut, "/permissions", `{"agent_id":"alice","state":"denied"}`, http.StatusForbidden},
		{apiToken, http.MethodPut, "/permissions", `{"agent_id":"alice","state":"denied","pii_policy":"reject"}`, http.StatusForbidden},
		{apiToken, http.MethodPut, "/permissions", `{"agent_id":"alice","pii_policy":"redact"}`, http.StatusOK},
		{apiToken, http.MethodGet, "/transcript?agent_id=alice", "", http.StatusOK},
		{apiToken, http.MethodGet, "/batch?agent_id=alice", "", http.StatusOK},
		{alice, http.MethodPut, "/permissions", `{"agent_id":"alice","state":"denied"}`, http.StatusOK},
		{alice, http.MethodPost, "/messages", `{"agent_id":"alice","token":"` + string(claim.Token) + `","expected_position":"3","message_id":"m","content":"x"}`, http.StatusCreated},
	} {
		if r := w.as(c.token, c.method, "/v1/chats/"+id+c.path, c.body, nil); r.Code != c.want {
			t.Errorf("%s %s %s = %d %s; want %d", c.method, c.path, c.body, r.Code, r.Body, c.want)
		}
	}
}

// A server without keys has no chats, says so to who may know, and publishes no key.
func TestChatsWithoutKeys(t *testing.T) {
	w := configured(t, func(c *env.Config) { c.SigningKeys = nil })
	w.register("alice", "bob")
	for target, header := range map[string]http.Header{
		"/v1/chats?agent_id=alice": nil, "/v1/chats/" + aChat + "?agent_id=alice": nil, "/v1/chats/" + aChat + "/transcript?agent_id=alice": {"Accept": {"text/event-stream"}},
	} {
		if r := w.as(apiToken, http.MethodGet, target, "", header); r.Code != http.StatusNotFound || decode[api.Problem](t, r).Code != api.ChatsDisabled {
			t.Errorf("GET %s = %d %s; want %s", target, r.Code, r.Body, api.ChatsDisabled)
		}
		if r := w.as("", http.MethodGet, target, "", header); r.Code != http.StatusUnauthorized {
			t.Errorf("GET %s as nobody = %d; want 401", target, r.Code)
		}
	}
	if r := w.as("", http.MethodGet, "/.well-known/jwks.json", "", nil); r.Code != http.StatusOK || strings.TrimSpace(r.Body.String()) != `{"keys":[]}` {
		t.Errorf("the keys are %d %s; want none", r.Code, r.Body)
	}
}

// An append whose answer is lost is told of truly: 201 if it can be read back, else that it may be
// stored, with the operation to look up and no Retry-After; and never repeated by the server.
func TestChatOutcomes(t *testing.T) {
	var fault func(faultstream.Call) faultstream.Fault
	w := newWorld(t, func(c faultstream.Call) faultstream.Fault {
		if fault == nil {
			return faultstream.Fault{}
		}
		return fault(c)
	})
	w.register("alice", "bob")
	id := string(decode[api.Chat](t, w.do(http.MethodPost, "/v1/chats", `{"agent_id":"alice","peer_id":"bob"}`)).ID)
	claim := decode[api.ClaimResponse](t, w.do(http.MethodPost, "/v1/chats/"+id+"/claim", `{"agent_id":"alice"}`))
	send := func(at, message string) *httptest.ResponseRecorder {
		return w.do(http.MethodPost, "/v1/chats/"+id+"/messages",
			`{"agent_id":"alice","token":"`+string(claim.Token)+`","expected_position":"`+at+`","message_id":"`+message+`","content":"x"}`)
	}
	once := func(kind faultstream.Kind) (appends *int) {
		n := new(int)
		fault = func(c faultstream.Call) faultstream.Fault {
			if c.Op != faultstream.Append || !strings.HasSuffix(c.Name.String(), "/alice") {
				return faultstream.Fault{}
			}
			*n++
			return faultstream.Fault{Kind: kind, After: -1}
		}
		return n
	}
	if n, r := once(faultstream.Stored), send("3", "m-1"); r.Code != http.StatusCreated || *n != 1 {
		t.Errorf("a lost reply: %d %s after %d appends; want 201 after one", r.Code, r.Body, *n)
	}
	n, r := once(faultstream.Late), send("4", "m-2")
	p := decode[api.Problem](t, r)
	if p.Code != api.DeliveryUnknown || p.Outcome != "unknown" || p.Retry != "inspect" || p.Operation == "" || p.Tail == nil || !p.Tail.Text || p.Tail.At != 4 || r.Header().Get("Retry-After") != "" || *n != 1 {
		t.Errorf("a late append: %d %s after %d appends; want an unknown outcome to inspect, after one", r.Code, r.Body, *n)
	}
	fault = nil
	look := func() api.OperationResponse {
		return decode[api.OperationResponse](t, w.do(http.MethodGet, "/v1/chats/"+id+"/operations/"+string(p.Operation)+"?agent_id=alice&expected_position=4", ""))
	}
	if o := look(); o.Outcome != api.OperationAbsent || o.Final {
		t.Errorf("before it lands: %+v; want absent, and not for good", o)
	}
	w.store.LandAll()
	if o := look(); o.Outcome != api.OperationStored || len(o.Records) != 1 {
		t.Errorf("after it landed: %+v; want it stored", o)
	}
	if r := send("4", "m-2"); r.Code != http.StatusOK || r.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the identical request: %d %s; want 200", r.Code, r.Body)
	}
	if _, r := once(faultstream.Refused), send("5", "m-3"); decode[api.Problem](t, r).Code != api.Unavailable || r.Header().Get("Retry-After") == "" {
		t.Errorf("a store that is away: %d %s; want that nothing was stored, and when to come again", r.Code, r.Body)
	}
}

// A chat that can't be read does not keep back the others of a list, which names
// it with the reason; a lasting damage is logged once. A store that can tell of
// none is away.
func TestListOfDamagedChats(t *testing.T) {
	var away stream.Name
	all := false
	w := newWorld(t, func(c faultstream.Call) faultstream.Fault {
		if c.Op == faultstream.Read && (c.Name == away || all && strings.HasPrefix(c.Name.String(), "chats/")) {
			return faultstream.Fault{Kind: faultstream.Refused}
		}
		return faultstream.Fault{}
	})
	w.register("alice", "bob", "carol", "dave", "erin", "frank")
	chats := map[string]ident.Chat{}
	for _, peer := range []string{"bob", "carol", "dave", "erin", "frank"} {
		chats[peer] = decode[api.Chat](t, w.do(http.MethodPost, "/v1/chats", `{"agent_id":"alice","peer_id":"`+peer+`"}`)).ID
	}
	if err := w.store.Delete(t.Context(), stream.Chat(chats["bob"])); err != nil {
		t.Fatal(err)
	}
	for peer, r := range map[string]stream.Record{"carol": {Body: []byte("no event")}, "dave": stream.Trim(2)} {
		if _, err := w.store.Append(t.Context(), stream.Chat(chats[peer]), stream.Batch{Records: []stream.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	away = stream.Chat(chats["erin"])
	w = worldOn(t, w.store) // that knows of nothing yet
	want := map[ident.Chat]api.Code{chats["bob"]: api.StreamMissing, chats["carol"]: api.StateLost, chats["dave"]: api.StateLost, chats["erin"]: api.Unavailable}
	for range 2 {
		r := w.do(http.MethodGet, "/v1/chats?agent_id=alice", "")
		list := decode[api.ListChatsResponse](t, r)
		got := map[ident.Chat]api.Code{}
		for id, u := range list.Unavailable {
			got[id] = u.Code
			if u.Status != u.Code.Trait().Status || u.Detail == "" || u.Title == "" {
				t.Errorf("%s is %+v; want a problem", id, u)
			}
		}
		if diff := cmp.Diff(want, got); r.Code != http.StatusOK || diff != "" || len(list.Chats) != 1 || list.Chats[0].ID != chats["frank"] || list.NextCursor != nil {
			t.Errorf("the list is %d %s; want the chat with frank, and (-want +got):\n%s", r.Code, r.Body, diff)
		}
	}
	for peer, n := range map[string]int{"bob": 1, "carol": 1, "dave": 1, "erin": 0, "frank": 0} {
		if got := strings.Count(w.log.String(), `"chat":"`+string(chats[peer])); got != n {
			t.Errorf("the chat with %s is logged %d times; want %d", peer, got, n)
		}
	}
	// Pages go on behind what can't be read.
	var shown int
	for cursor, pages := "0", 1; ; pages++ {
		page := decode[api.ListChatsResponse](t, w.do(http.MethodGet, "/v1/chats?agent_id=alice&limit=2&cursor="+cursor, ""))
		shown += len(page.Chats) + len(page.Unavailable)
		if page.NextCursor == nil {
			if pages != 3 || shown != 5 {
				t.Errorf("%d pages with %d chats; want 3 with 5", pages, shown)
			}
			break
		}
		cursor = strconv.FormatUint(*page.NextCursor, 10)
	}
	all = true
	w = worldOn(t, w.store)
	if r := w.do(http.MethodGet, "/v1/chats?agent_id=alice", ""); r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") == "" {
		t.Errorf("while the store is away the list is %d %s; want 503", r.Code, r.Body)
	}
}
