package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// alice is registered with key k1, whose key k2 was revoked; zed is deleted,
// opening is half registered; the store does not answer for away.
const (
	oldToken = "operator-token-old"
	newToken = "operator-token-new"
	admin    = "admin-token-0123456789"
)

var (
	aliceKey, aliceHash, _  = auth.NewKey("alice", "k1", [32]byte{1})
	revokedKey, _, _        = auth.NewKey("alice", "k2", [32]byte{2})
	bobKey, bobHash, _      = auth.NewKey("bob", "k1", [32]byte{3})
	zedKey, zedHash, _      = auth.NewKey("zed", "k1", [32]byte{4})
	openingKey, openHash, _ = auth.NewKey("opening", "k1", [32]byte{5})
	ghostKey, _, _          = auth.NewKey("ghost", "k1", [32]byte{6})
	neverKey, _, _          = auth.NewKey("never", "k1", [32]byte{9})
	awayKey, _, _           = auth.NewKey("away", "k1", [32]byte{7})
	lostKey, _, _           = auth.NewKey("lost", "k1", [32]byte{8})
)

var errAway = errors.New("the store is away")

func registration(_ context.Context, id ident.Agent, _ time.Duration) (agent.State, error) {
	switch id {
	case "alice":
		return agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k0", Hash: bobHash}, {ID: "k1", Hash: aliceHash}}}, nil
	case "bob":
		return agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k1", Hash: bobHash}}}, nil
	case "zed":
		return agent.State{Phase: agent.Deleted, Keys: []agent.Key{{ID: "k1", Hash: zedHash}}}, nil
	case "opening":
		return agent.State{Phase: agent.Registering, Keys: []agent.Key{{ID: "k1", Hash: openHash}}}, nil
	case "never":
		return agent.State{}, nil
	case "away":
		return agent.State{}, errAway
	case "lost":
		return agent.State{}, api.Errorf(api.StateLost, "gone")
	}
	return agent.State{}, api.Errorf(api.AgentNotRegistered, "%s", id)
}

func newAuth(t *testing.T) *auth.Auth {
	t.Helper()
	a, err := auth.New(auth.Options{APITokens: []string{newToken, oldToken}, AdminTokens: []string{admin}, Registration: registration})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return a
}

func TestCaller(t *testing.T) {
	operator, alice := auth.Caller{Kind: auth.Operator}, auth.Caller{Kind: auth.Agent, Agent: "alice", Key: "k1"}
	for _, row := range []struct {
		name   string
		header http.Header
		want   auth.Caller
		code   api.Code
	}{
		{"nothing", nil, auth.Caller{}, ""},
		{"API token", bearer(newToken), operator, ""},
		{"second API token", bearer(oldToken), operator, ""},
		{"admin token", bearer(admin), auth.Caller{Kind: auth.Admin}, ""},
		{"agent key", bearer(aliceKey), alice, ""},
		{"bearer in lower case", header("Authorization", "bearer "+newToken), operator, ""},
		{"bearer in upper case", header("Authorization", "BEARER "+newToken), operator, ""},

		{"empty header", header("Authorization", ""), auth.Caller{}, api.UnknownCredential},
		{"scheme alone", header("Authorization", "Bearer"), auth.Caller{}, api.UnknownCredential},
		{"scheme and space", header("Authorization", "Bearer "), auth.Caller{}, api.UnknownCredential},
		{"two spaces", header("Authorization", "Bearer  "+newToken), auth.Caller{}, api.UnknownCredential},
		{"tab", header("Authorization", "Bearer\t"+newToken), auth.Caller{}, api.UnknownCredential},
		{"no space", header("Authorization", "Bearer"+newToken), auth.Caller{}, api.UnknownCredential},
		{"second word", header("Authorization", "Bearer "+newToken+" x"), auth.Caller{}, api.UnknownCredential},
		{"space behind", header("Authorization", "Bearer "+newToken+" "), auth.Caller{}, api.UnknownCredential},
		{"comma behind", header("Authorization", "Bearer "+newToken+","), auth.Caller{}, api.UnknownCredential},
		{"both tokens as a list", header("Authorization", "Bearer "+newToken+","+oldToken), auth.Caller{}, api.UnknownCredential},
		{"scheme Token", header("Authorization", "Token "+newToken), auth.Caller{}, api.UnknownCredential},
		{"scheme Basic", header("Authorization", "Basic "+newToken), auth.Caller{}, api.UnknownCredential},
		{"no scheme", header("Authorization", newToken), auth.Caller{}, api.UnknownCredential},
		{"one character more", bearer(newToken + "x"), auth.Caller{}, api.UnknownCredential},
		{"one character less", bearer(newToken[:len(newToken)-1]), auth.Caller{}, api.UnknownCredential},
		{"first character", bearer(newToken[:1]), auth.Caller{}, api.UnknownCredential},
		{"other case", bearer(strings.ToUpper(newToken)), auth.Caller{}, api.UnknownCredential},
		{"two headers", header("Authorization", "Bearer "+newToken, "Authorization", "Bearer "+newToken), auth.Caller{}, api.UnknownCredential},
		{"good and garbage", header("Authorization", "Bearer "+newToken, "Authorization", "Bearer x"), auth.Caller{}, api.UnknownCredential},

		{"X-API-Key alone", header("X-API-Key", newToken), auth.Caller{}, api.UnknownCredential},
		{"Api-Key alone", header("Api-Key", newToken), auth.Caller{}, api.UnknownCredential},
		{"X-API-Key agrees", header("Authorization", "Bearer "+newToken, "X-API-Key", newToken), operator, ""},
		{"X-API-Key disagrees", header("Authorization", "Bearer "+aliceKey, "X-API-Key", bobKey), auth.Caller{}, api.UnknownCredential},
		{"Api-Key twice, one disagrees", header("Authorization", "Bearer "+aliceKey, "Api-Key", aliceKey, "Api-Key", bobKey), auth.Caller{}, api.UnknownCredential},

		{"unknown token", bearer("an-unknown-token-0123"), auth.Caller{}, api.UnknownCredential},
		{"unknown agent", bearer(ghostKey), auth.Caller{}, api.UnknownCredential},
		{"agent without a history", bearer(neverKey), auth.Caller{}, api.UnknownCredential},
		{"unknown key id", bearer(strings.Replace(aliceKey, "~k1~", "~k9~", 1)), auth.Caller{}, api.UnknownCredential},
		{"revoked key", bearer(revokedKey), auth.Caller{}, api.UnknownCredential},
		{"wrong secret", bearer(flip(aliceKey)), auth.Caller{}, api.UnknownCredential},
		{"another agent's secret", bearer(strings.Replace(bobKey, "bob", "alice", 1)), auth.Caller{}, api.UnknownCredential},
		{"deleted agent", bearer(zedKey), auth.Caller{}, api.UnknownCredential},
		{"half registered agent", bearer(openingKey), auth.Caller{}, api.UnknownCredential},
		{"key with a part more", bearer(aliceKey + "~x"), auth.Caller{}, api.UnknownCredential},
		{"key padded", bearer(aliceKey + "="), auth.Caller{}, api.UnknownCredential},
		{"key of a bad agent", bearer(strings.Replace(aliceKey, "alice", "Alice", 1)), auth.Caller{}, api.UnknownCredential},
		{"key without a secret", bearer("ak_alice~k1~"), auth.Caller{}, api.UnknownCredential},

		{"store away", bearer(awayKey), auth.Caller{}, api.Unavailable},
		{"registration lost", bearer(lostKey), auth.Caller{}, api.StateLost},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := newAuth(t).Caller(t.Context(), row.header, route.Route{})
			if got != row.want || code(err) != row.code {
				t.Errorf("Caller = %+v, %v; want %+v and code %q", got, err, row.want, row.code)
			}
		})
	}
}

// Where the route has Keys, the credential may be in any of three headers, and is one.
func TestCallerOfKeys(t *testing.T) {
	operator, alice := auth.Caller{Kind: auth.Operator}, auth.Caller{Kind: auth.Agent, Agent: "alice", Key: "k1"}
	for _, row := range []struct {
		name   string
		header http.Header
		want   auth.Caller
		code   api.Code
	}{
		{"none", header(), auth.Caller{}, ""},
		{"Authorization", bearer(newToken), operator, ""},
		{"X-API-Key", header("X-API-Key", newToken), operator, ""},
		{"Api-Key", header("Api-Key", aliceKey), alice, ""},
		{"the same in all", header("Authorization", "Bearer "+aliceKey, "X-API-Key", aliceKey, "Api-Key", aliceKey), alice, ""},
		{"empty", header("X-API-Key", ""), auth.Caller{}, ""},

		{"of nobody", header("X-API-Key", ghostKey), auth.Caller{}, api.UnknownCredential},
		{"revoked", header("Api-Key", revokedKey), auth.Caller{}, api.UnknownCredential},
		{"another in Authorization", header("Authorization", "Bearer "+aliceKey, "X-API-Key", newToken), auth.Caller{}, api.UnknownCredential},
		{"a malformed Authorization", header("Authorization", "Basic x", "X-API-Key", newToken), auth.Caller{}, api.UnknownCredential},
		{"another in Api-Key", header("X-API-Key", aliceKey, "Api-Key", bobKey), auth.Caller{}, api.UnknownCredential},
		{"two in one header", header("X-API-Key", aliceKey, "X-API-Key", bobKey), auth.Caller{}, api.UnknownCredential},
		{"an empty one behind", header("X-API-Key", aliceKey, "Api-Key", ""), auth.Caller{}, api.UnknownCredential},
		{"a list", header("X-API-Key", newToken+","+newToken), auth.Caller{}, api.UnknownCredential},
		{"with a scheme", header("X-API-Key", "Bearer "+newToken), auth.Caller{}, api.UnknownCredential},
		{"the store is away", header("X-API-Key", awayKey), auth.Caller{}, api.Unavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := newAuth(t).Caller(t.Context(), row.header, route.Route{Keys: true})
			if got != row.want || code(err) != row.code {
				t.Errorf("Caller = %+v, %v; want %+v and code %q", got, err, row.want, row.code)
			}
		})
	}
}

// A state that is a little old opens and does not refuse: what it does not know
// of is looked for in the present one.
func TestNewKeyOpensAtOnce(t *testing.T) {
	a, err := auth.New(auth.Options{APITokens: []string{newToken}, Registration: func(_ context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error) {
		s := agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "k1", Hash: aliceHash}}}
		if maxAge == 0 {
			s.Keys = []agent.Key{{ID: "k1", Hash: bobHash}} // the other was revoked meanwhile
		}
		return s, nil
	}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	minted := strings.Replace(bobKey, "bob", "alice", 1)
	for name, row := range map[string]struct {
		key string
		ok  bool
	}{"old": {aliceKey, true}, "minted since": {bobKey, true}, "of nobody": {minted, false}} {
		if _, err := a.Caller(t.Context(), bearer(row.key), route.Route{}); (err == nil) != row.ok {
			t.Errorf("%s: %v; want it to open: %t", name, err, row.ok)
		}
	}
}

// What is no key of ours by its shape costs no look-up.
func TestMalformedKeysAreNotLookedUp(t *testing.T) {
	a, err := auth.New(auth.Options{APITokens: []string{newToken}, Registration: func(_ context.Context, id ident.Agent, _ time.Duration) (agent.State, error) {
		t.Errorf("%q was looked up", id)
		return agent.State{}, nil
	}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	for _, key := range []string{newToken, "an-unknown-token-0123", "ak_alice~k1~", "ak_alice~k1~x", aliceKey + "~", aliceKey + "x", aliceKey[:len(aliceKey)-1], "ak_Alice" + aliceKey[len("ak_alice"):]} {
		_, _ = a.Caller(t.Context(), bearer(key), route.Route{})
	}
}

// Who guesses agents and keys learns nothing from the refusals.
func TestUnknownKeysAreAlike(t *testing.T) {
	_, want := newAuth(t).Caller(t.Context(), bearer(ghostKey), route.Route{})
	for name, key := range map[string]string{
		"revoked": revokedKey, "wrong secret": flip(aliceKey), "deleted": zedKey, "unknown key id": strings.Replace(aliceKey, "~k1~", "~k9~", 1),
		"no key at all": "an-unknown-token-0123",
	} {
		if _, err := newAuth(t).Caller(t.Context(), bearer(key), route.Route{}); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v; want the answer of an unknown agent, %v", name, err, want)
		}
	}
}

func TestNoRefusalRepeatsTheCredential(t *testing.T) {
	for _, v := range []string{"Bearer  s3cret-s3cret-s3cret", "Bearer s3cret-s3cret-s3cret", "s3cret", "Basic s3cret"} {
		if _, err := newAuth(t).Caller(t.Context(), header("Authorization", v, "X-Api-Key", "s3cret"), route.Route{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Caller of %q: %v; want an error without it", v, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, row := range []struct {
		name       string
		api, admin []string
	}{
		{"no API token", nil, nil},
		{"empty API token", []string{""}, nil},
		{"blank API token among good ones", []string{newToken, "                "}, nil},
		{"short API token", []string{"0123456789abcde"}, nil},
		{"API token with a comma", []string{newToken + "," + oldToken}, nil},
		{"API token with a line end", []string{newToken + "\n"}, nil},
		{"API token like an agent key", []string{aliceKey}, nil},
		{"empty admin token", []string{newToken}, []string{""}},
		{"admin token is the API token", []string{newToken}, []string{newToken}},
		{"admin token is one of the API tokens", []string{newToken, oldToken}, []string{admin, oldToken}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := auth.New(auth.Options{APITokens: row.api, AdminTokens: row.admin, Registration: registration}); err == nil {
				t.Errorf("New(%q, %q) succeeded; want an error", row.api, row.admin)
			}
		})
	}
	if _, err := auth.New(auth.Options{APITokens: []string{"0123456789abcdef"}, Registration: registration}); err != nil {
		t.Errorf("New with a token of 16 characters: %v; want none", err)
	}
}

func TestParseTokens(t *testing.T) {
	got, err := auth.ParseTokens(newToken + " ,\t" + oldToken + "\n")
	if err != nil || len(got) != 2 || got[0] != newToken || got[1] != oldToken {
		t.Errorf("ParseTokens = %q, %v; want both tokens", got, err)
	}
	for _, list := range []string{"", " ", "\n", ",", newToken + ",", "," + newToken, newToken + ", ," + oldToken, newToken + ",short", "tökentökentökentöken"} {
		if got, err := auth.ParseTokens(list); err == nil {
			t.Errorf("ParseTokens(%q) = %q; want an error", list, got)
		}
	}
}

func TestNewKeyIsWhatCallerTakes(t *testing.T) {
	key, hash, lastFour := auth.NewKey("a.b_c-d", "0123456789abcdef", [32]byte{0xff, 0xee})
	if want := "ak_a.b_c-d~0123456789abcdef~_-4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"; key != want || lastFour != "AAAA" {
		t.Errorf("NewKey = %q, last four %q; want %q, AAAA", key, lastFour, want)
	}
	a, err := auth.New(auth.Options{APITokens: []string{newToken}, Registration: func(_ context.Context, id ident.Agent, _ time.Duration) (agent.State, error) {
		return agent.State{Phase: agent.Registered, Keys: []agent.Key{{ID: "0123456789abcdef", Hash: hash}}}, nil
	}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	want := auth.Caller{Kind: auth.Agent, Agent: "a.b_c-d", Key: "0123456789abcdef"}
	if got, err := a.Caller(t.Context(), bearer(key), route.Route{}); err != nil || got != want {
		t.Errorf("Caller = %+v, %v; want %+v", got, err, want)
	}
}

// Whatever stands in the headers, nobody gets in but with a token that is there.
func FuzzCaller(f *testing.F) {
	for _, s := range []string{"", "Bearer ", "bearer " + newToken, "Bearer " + aliceKey, "Bearer " + zedKey, "Bearer ak_alice~k1~~", "Bearer ak_\x00~~"} {
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, authorization, apiKey string) {
		a, err := auth.New(auth.Options{APITokens: []string{newToken}, AdminTokens: []string{admin}, Registration: registration})
		if err != nil {
			t.Fatal(err)
		}
		h := header("Authorization", authorization)
		if apiKey != "" {
			h.Add("X-Api-Key", apiKey)
		}
		got, err := a.Caller(t.Context(), h, route.Route{})
		allowed := map[auth.CallerKind]string{auth.Operator: newToken, auth.Admin: admin, auth.Agent: aliceKey}
		if got.Agent == "bob" {
			allowed[auth.Agent] = bobKey
		}
		if err == nil && (len(authorization) < 7 || authorization[7:] != allowed[got.Kind]) {
			t.Errorf("Authorization %q is %+v", authorization, got)
		}
	})
}

func bearer(token string) http.Header { return header("Authorization", "Bearer "+token) }

func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Add(kv[i], kv[i+1])
	}
	return h
}

func flip(key string) string {
	last := "A"
	if strings.HasSuffix(key, last) {
		last = "B"
	}
	return key[:len(key)-1] + last
}

func code(err error) api.Code {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return api.Code(fmt.Sprintf("not an api.Error: %v", err))
	}
	return e.Code
}
