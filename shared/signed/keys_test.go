package signed_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agentchat/shared/signed"
)

func parseSet(t *testing.T, s string) *signed.Set {
	t.Helper()
	set, err := signed.ParseSet([]byte(s))
	if err != nil {
		t.Fatalf("ParseSet: %v", err)
	}
	return set
}

// The keys, thumbprints and signatures of the RFCs: 7515 A.3 and 8037 A.1-A.4.
func TestRFCs(t *testing.T) {
	const (
		es = `{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",` +
			`"d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}]}`
		ed = `{"keys":[{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	)
	for _, c := range []struct {
		name, set, kid string
		alg            signed.Alg
		payload, value string
	}{
		{
			"ES256", es, "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U", signed.ES256,
			"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
			"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
		},
		{
			"Ed25519", ed, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", signed.EdDSA,
			"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
			"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parseSet(t, c.set)
			k := s.Keys()[0]
			if k.ID != c.kid || k.Alg != c.alg {
				t.Errorf("kid %s of %s; want %s of %s", k.ID, k.Alg, c.kid, c.alg)
			}
			if err := s.Verify(c.kid, c.alg, []byte(c.payload), c.value, noon); err != nil {
				t.Errorf("Verify: %v", err)
			}
			if err := s.Verify(c.kid, c.alg, []byte(c.payload+"x"), c.value, noon); reason(err) != signed.WrongSignature {
				t.Errorf("Verify of another payload: %v; want %s", err, signed.WrongSignature)
			}
			mine, err := k.Sign([]byte(c.payload), noon)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(c.kid, c.alg, []byte(c.payload), mine, noon); err != nil {
				t.Errorf("Verify of our own: %v", err)
			}
			if c.alg == signed.EdDSA && mine != c.value {
				t.Errorf("Sign gave %s; want %s", mine, c.value)
			}
		})
	}
}

// Which key signs as time goes by (case B130).
func TestSigner(t *testing.T) {
	key := func(alg signed.Alg, published, notBefore int) *signed.Key {
		k, err := signed.NewKey(alg, noon.Add(time.Duration(published)*time.Minute), noon.Add(time.Duration(notBefore)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k1, k2, k3, hasty, ed := key(signed.ES256, 0, 0), key(signed.ES256, 60, 75), key(signed.ES256, 120, 135), key(signed.ES256, 60, 60), key(signed.EdDSA, 0, 0)
	both := set(k1, k2, ed)
	revoked, ok := both.Revoke(k2.ID)
	if !ok {
		t.Fatal("no key to revoke")
	}
	none, _ := set(k1).Revoke(k1.ID)
	for _, c := range []struct {
		name string
		set  *signed.Set
		at   int // minutes after noon
		want *signed.Key
	}{
		{"before all", both, -1, nil},
		{"the first signs at once", both, 0, k1},
		{"the second is published and waits", both, 74, k1},
		{"the second takes over", both, 75, k2},
		{"the second goes on", both, 1e6, k2},
		{"a third that waits", set(k1, k2, k3), 134, k2},
		{"a third that is there", set(k1, k2, k3), 135, k3},
		{"one that did not wait has to", set(k1, hasty), 74, k1},
		{"one that did not wait, after it has", set(k1, hasty), 75, hasty},
		{"one that did not wait, alone", set(hasty), 60, hasty},
		{"after a revocation the former one, while it lasts", revoked, 76, k1},
		{"after a revocation none", revoked, 1e6, nil},
		{"nothing but a revoked one", none, 5, nil},
		{"an empty set", set(), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.set.Signer(signed.ES256, noon.Add(time.Duration(c.at)*time.Minute))
			switch {
			case c.want == nil && err == nil:
				t.Errorf("%s signs; want none", got.ID)
			case c.want != nil && (err != nil || got.ID != c.want.ID):
				t.Errorf("%v, %v; want %s", got, err, c.want.ID)
			}
		})
	}
}

// What was signed before a rotation, or a retirement, verifies after it, by the
// published keys alone; after a revocation nothing does (case B130).
func TestHistory(t *testing.T) {
	k1 := newKey(t, signed.ES256)
	record := message(t, k1, "x").Body
	keys := set(k1)
	published := func() *signed.Set { return parseSet(t, string(keys.Public())) }
	open := func() signed.Reason { _, err := signed.Open(published(), record, noon); return reason(err) }
	if got := open(); got != "" {
		t.Errorf("at first: %s", got)
	}
	at := noon
	for range 2 {
		at = at.Add(30 * 24 * time.Hour)
		k, err := signed.NewKey(signed.ES256, at, at.Add(signed.Wait))
		if err != nil {
			t.Fatal(err)
		}
		keys = parseSet(t, string(keys.With(k).Private()))
		if got := open(); got != "" {
			t.Errorf("after a rotation: %s", got)
		}
	}
	if _, err := signed.Sign(keys.Keys()[0], draft("x")); err == nil {
		t.Error("a key that was retired long ago still has its private half")
	}
	if strings.Contains(string(keys.Public()), `"d"`) {
		t.Errorf("a private half is published: %s", keys.Public())
	}
	keys, _ = keys.Revoke(k1.ID)
	if got := open(); got != signed.UnknownKey {
		t.Errorf("by what is published after a revocation: %q; want %s", got, signed.UnknownKey)
	}
	if _, err := signed.Open(parseSet(t, string(keys.Private())), record, noon); reason(err) != signed.RevokedKey {
		t.Errorf("by the whole set after a revocation: %v; want %s", err, signed.RevokedKey)
	}
}

// What a published key looks like to others (RFC 7517).
func TestPublicForm(t *testing.T) {
	k := newKey(t, signed.ES256)
	var got struct{ Keys []map[string]any }
	if err := json.Unmarshal(set(k).With(newKey(t, signed.EdDSA)).Public(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range got.Keys {
		want := map[string]any{"use": "sig", "nbf": float64(noon.Add(-time.Hour).Unix())}
		switch key["kty"] {
		case "EC":
			want["crv"], want["alg"], want["kid"] = "P-256", "ES256", k.ID
		case "OKP":
			want["crv"], want["alg"] = "Ed25519", "EdDSA"
		}
		for name, v := range want {
			if key[name] != v {
				t.Errorf("%v has %s = %v; want %v", key["kty"], name, key[name], v)
			}
		}
	}
	if len(got.Keys) != 2 {
		t.Errorf("%d keys; want 2", len(got.Keys))
	}
	if empty := string(set().Public()); empty != `{"keys":[]}` {
		t.Errorf("an empty set is published as %s", empty)
	}
}

// Each broken key set is refused, and nothing of it is quoted.
func TestParseSetRefuses(t *testing.T) {
	const (
		x   = `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"`
		y   = `"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"`
		ec  = `{"kty":"EC","crv":"P-256",`
		key = ec + x + "," + y + "}"
	)
	for name, in := range map[string]string{
		"nothing": ``, "no JSON": `jpsQnnGQmL`, "no set": key, "null": `{"keys":null}`, "no keys": `{}`, "a list": `[]`,
		"keys twice":        `{"keys":[],"keys":[]}`,
		"a member twice":    `{"keys":[` + ec + x + `,` + x + `,` + y + `}]}`,
		"a key twice":       `{"keys":[` + key + `,` + key + `]}`,
		"no y":              `{"keys":[` + ec + x + `}]}`,
		"x padded":          `{"keys":[` + ec + `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU=",` + y + `}]}`,
		"x with dirty bits": `{"keys":[` + ec + `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEV",` + y + `}]}`,
		"x with a newline":  `{"keys":[` + ec + `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\n",` + y + `}]}`,
		"off the curve":     `{"keys":[` + ec + `"x":"g83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` + y + `}]}`,
		"short d":           `{"keys":[` + ec + x + `,` + y + `,"d":"jpsQnnGQmL"}]}`,
		"another's d":       `{"keys":[` + ec + x + `,` + y + `,"d":"kpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}]}`,
		"another's kid":     `{"keys":[` + ec + x + `,` + y + `,"kid":"k1"}]}`,
		"another alg":       `{"keys":[` + ec + x + `,` + y + `,"alg":"ES384"}]}`,
		"short Ed25519":     `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qY"}]}`,
		"another's seed":    `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}]}`,
		"short secret":      `{"keys":[{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := signed.ParseSet([]byte(in))
			if err == nil {
				t.Fatal("no error")
			}
			for _, quoted := range []string{"jpsQ", "f83O", "11qY", "AAAA"} {
				if strings.Contains(err.Error(), quoted) {
					t.Errorf("%q quotes the key", err)
				}
			}
		})
	}
	// Keys for other uses, and of kinds not known here, are none of ours.
	s := parseSet(t, `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-384","x":"AA","y":"AA"},`+ec+x+`,`+y+`,"use":"enc"}],"more":1}`)
	if n := len(s.Keys()); n != 0 {
		t.Errorf("%d keys; want none", n)
	}
}

// Keys come from PEM as openssl writes it.
func TestParsePEM(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skipf("NOT TESTED: keys of openssl: %v", err)
	}
	for _, c := range []struct {
		name, command string
		want          signed.Alg // "": refused
	}{
		{"PKCS #8", "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256", signed.ES256},
		{"SEC 1", "openssl ecparam -name prime256v1 -genkey", signed.ES256},
		{"public", "openssl ecparam -name prime256v1 -genkey | openssl ec -pubout", signed.ES256},
		{"Ed25519", "openssl genpkey -algorithm ed25519", signed.EdDSA},
		{"Ed25519, public", "openssl genpkey -algorithm ed25519 | openssl pkey -pubout", signed.EdDSA},
		{"P-384", "openssl ecparam -name secp384r1 -genkey", ""},
		{"RSA", "openssl genrsa 2048", ""},
		{"two", "openssl genpkey -algorithm ed25519; openssl genpkey -algorithm ed25519", ""},
		{"with a password", "openssl genpkey -algorithm ed25519 -aes128 -pass pass:x", ""},
		{"none", "echo secret", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pem, err := exec.CommandContext(t.Context(), "sh", "-c", c.command).Output()
			if err != nil {
				t.Fatal(err)
			}
			k, err := signed.ParsePEM(pem, noon, noon)
			if c.want == "" {
				if err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("err = %v; want one that quotes nothing", err)
				}
				return
			}
			if err != nil || k.Alg != c.want {
				t.Fatalf("%v, %v; want a key for %s", k, err, c.want)
			}
			_, err = k.Sign([]byte("x"), noon)
			if public := strings.Contains(string(pem), "PUBLIC"); (err == nil) == public {
				t.Errorf("Sign: %v", err)
			}
			if again := parseSet(t, string(set(k).Private())).Keys()[0]; again.ID != k.ID {
				t.Errorf("the key is %s as a JWK; want %s", again.ID, k.ID)
			}
		})
	}
}

// A set that can sign nothing says why, and what it says names no key.
func TestUnready(t *testing.T) {
	key := func(alg signed.Alg, from time.Time) *signed.Key {
		k, err := signed.NewKey(alg, from, from)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	revoked := func(s *signed.Set) *signed.Set {
		for _, k := range s.Keys() {
			s, _ = s.Revoke(k.ID)
		}
		return s
	}
	good := set(key(signed.ES256, noon)).WithSecret(noon)
	ended := key(signed.ES256, noon)
	ended.NotAfter = noon.Add(time.Hour)
	for _, c := range []struct {
		name string
		set  *signed.Set
		want string // "": it can
	}{
		{"one that signs", good, ""},
		{"one that signs beside one that does not", revoked(good).With(key(signed.ES256, noon)), ""},
		{"nothing", set(), "the set has no symmetric key"},
		{"no symmetric key", set(key(signed.ES256, noon)), "the set has no symmetric key"},
		{"only a symmetric key", set().WithSecret(noon), "the set has no key that signs with ES256"},
		{"revoked", revoked(good), "no key of the set can sign with ES256: 1 revoked"},
		{"ended", set(ended).WithSecret(noon), "no key of the set can sign with ES256: 1 past its end"},
		{"to come", set(key(signed.ES256, noon.Add(48*time.Hour))).WithSecret(noon), "no key of the set can sign with ES256: 1 not valid yet"},
		{"public", parseSet(t, string(good.Public())).WithSecret(noon), "no key of the set can sign with ES256: 1 without its private half"},
		{"all of it", revoked(good).With(ended).With(key(signed.EdDSA, noon)), "no key of the set can sign with ES256: 1 revoked, 1 past its end, 1 of another algorithm"},
	} {
		got := ""
		if err := c.set.Unready(signed.ES256, noon.Add(24*time.Hour)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
	if !set().Empty() || good.Empty() || set().WithSecret(noon).Empty() {
		t.Error("a set is empty that has a key, or the reverse")
	}
}

// Secrets differ by purpose and by key, and the one for new things waits as a
// signing key does.
func TestSecrets(t *testing.T) {
	if s := set().Secrets("x", noon); len(s) != 0 {
		t.Errorf("an empty set has %d secrets", len(s))
	}
	s := set().WithSecret(noon).WithSecret(noon.Add(time.Hour))
	first := func(purpose string, at time.Time) signed.Secret {
		all := s.Secrets(purpose, at)
		if len(all) != 2 || all[0].ID == all[1].ID || string(all[0].Key) == string(all[1].Key) || len(all[0].Key) != 32 || len(all[0].ID) != 8 {
			t.Fatalf("secrets %+v; want two of 32 bytes that differ", all)
		}
		return all[0]
	}
	before, after := first("x", noon.Add(74*time.Minute)), first("x", noon.Add(75*time.Minute))
	if before.ID == after.ID {
		t.Error("the second secret is not the first one after its wait")
	}
	if early := first("x", noon); early.ID != before.ID {
		t.Error("the first secret is not used at once")
	}
	if other := first("y", noon); other.ID != before.ID || string(other.Key) == string(before.Key) {
		t.Error("two purposes have one secret, or its key two ids")
	}
	again := parseSet(t, string(s.Private()))
	if got := again.Secrets("x", noon); string(got[0].Key) != string(before.Key) {
		t.Error("a secret changed on its way through its JWK")
	}
}
