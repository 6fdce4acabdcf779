package signed_test

import (
	"errors"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

const (
	chat = ident.Chat("chat_0123456789abcdef0123456789abcdef")
	gen  = ident.Generation("0123456789abcdef")
)

var noon = time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)

// newKey makes a key that is valid from an hour before noon.
func newKey(t *testing.T, alg signed.Alg) *signed.Key {
	t.Helper()
	k, err := signed.NewKey(alg, noon.Add(-2*time.Hour), noon.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func set(keys ...*signed.Key) *signed.Set {
	s := &signed.Set{}
	for _, k := range keys {
		s = s.With(k)
	}
	return s
}

func draft(content string) signed.Draft {
	return signed.Draft{ChatID: chat, From: "alice", To: "bob", MessageID: "m1", Content: content, CreatedAt: noon}
}

// message returns the stored record of a message.
func message(t *testing.T, k *signed.Key, content string) stream.Record {
	t.Helper()
	m, err := signed.Sign(k, draft(content))
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, &signed.Record{
		ChatID: chat, AuthorAgentID: "alice", OperationID: signed.MessageOperation(chat, "alice", "m1"),
		AuthoredWith: signed.AgentKey, Message: m,
	})
}

func encode(t *testing.T, r *signed.Record) stream.Record {
	t.Helper()
	rec, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func reason(err error) signed.Reason {
	if f, ok := errors.AsType[*signed.Fault](err); ok {
		return f.Reason
	}
	return ""
}

// Every type of record comes back from its bytes as it was.
func TestOpenGivesBackWhatWasEncoded(t *testing.T) {
	k := newKey(t, signed.ES256)
	keys := set(k)
	m, err := signed.Sign(k, draft("grüße \U0001F642\u2028<b>&\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	batch := signed.BatchID([]byte("key"), chat, "alice", signed.StreamID(chat, "bob"), gen, 1, 5)
	owner := signed.OwnerOf(chat, "alice", signed.NewOwnerToken([]byte("key"), chat, "alice", "c1"))
	for _, r := range []signed.Record{
		{OperationID: signed.GenesisOperation(chat, "alice", gen), Genesis: &signed.Genesis{Generation: gen, PeerAgentID: "bob"}},
		{OperationID: signed.MessageOperation(chat, "alice", "m1"), Message: m},
		{OperationID: signed.MessageOperation(chat, "alice", "m1"), RecordIndex: 1, Receipt: &signed.Receipt{
			PeerStreamID: signed.StreamID(chat, "bob"), PeerGeneration: gen, NextPosition: 5, BatchID: batch,
		}},
		{OperationID: signed.ClaimOperation(chat, "alice", owner), Fence: &signed.Fence{Owner: owner, ReviewedTail: 1 << 63, Generation: gen}},
	} {
		r.ChatID, r.AuthorAgentID, r.AuthoredWith = chat, "alice", signed.AgentKey
		t.Run(string(r.Type()), func(t *testing.T) {
			rec := encode(t, &r)
			got, err := signed.OpenEntry(keys, stream.Entry{Timestamp: stream.Timestamp(noon.UnixMilli()), Record: rec})
			if err != nil {
				t.Fatalf("%s: %v", rec.Body, err)
			}
			if again := encode(t, got); string(again.Body) != string(rec.Body) {
				t.Errorf("again %s; want %s", again.Body, rec.Body)
			}
		})
	}
}

// What Sign and Encode refuse never reaches the store.
func TestRefusedBeforeStored(t *testing.T) {
	k := newKey(t, signed.ES256)
	for _, c := range []struct {
		name  string
		draft signed.Draft
		want  signed.Reason
	}{
		{"line feed in the chat", signed.Draft{ChatID: "c1\nalice", From: "bob", To: "carol", CreatedAt: noon}, signed.ControlCharacter},
		{"line feed in the sender", signed.Draft{ChatID: "c1", From: "alice\nbob", To: "carol", CreatedAt: noon}, signed.ControlCharacter},
		{"NUL in the recipient", signed.Draft{ChatID: "c1", From: "alice", To: "car\x00ol", CreatedAt: noon}, signed.ControlCharacter},
		{"not UTF-8", signed.Draft{ChatID: chat, From: "alice", To: "bob", Content: "\xff", CreatedAt: noon}, signed.Malformed},
		{"before the key", signed.Draft{ChatID: chat, From: "alice", To: "bob", CreatedAt: noon.Add(-time.Hour - 1)}, signed.KeyTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m, err := signed.Sign(k, c.draft); m != nil || reason(err) != c.want {
				t.Errorf("signed = %v, err = %v; want %s", m != nil, err, c.want)
			}
		})
	}
	if _, err := signed.Sign(newKey(t, signed.EdDSA), draft("x")); reason(err) != signed.WrongAlgorithm {
		t.Errorf("a record signed with Ed25519: err = %v; want %s", err, signed.WrongAlgorithm)
	}
	public, err := signed.ParseSet(set(k).Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Sign(public.Keys()[0], draft("x")); err == nil {
		t.Error("a public key signed")
	}
}

// The time is cut to the millisecond, which is what is signed and stored.
func TestSignCutsTheTime(t *testing.T) {
	d := draft("x")
	d.CreatedAt = noon.Add(1999999).In(time.FixedZone("", 7200))
	m, err := signed.Sign(newKey(t, signed.ES256), d)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Signature.CreatedAt, (api.Time{Time: noon.Add(time.Millisecond)}); got != want {
		t.Errorf("createdAt %v; want %v", got, want)
	}
}

// A signature is 64 bytes even if r begins with a zero byte, as one of 256 does.
func TestSignaturesArePadded(t *testing.T) {
	k := newKey(t, signed.ES256)
	keys := set(k)
	for range 50_000 {
		v, err := k.Sign([]byte("x"), noon)
		if err != nil {
			t.Fatal(err)
		}
		if len(v) != 86 {
			t.Fatalf("%d characters; want 86", len(v))
		}
		if v[0] == 'A' && v[1] >= 'A' && v[1] <= 'P' {
			if err := keys.Verify(k.ID, signed.ES256, []byte("x"), v, noon); err != nil {
				t.Errorf("%s: %v", v, err)
			}
			return
		}
	}
	t.Error("no r of 50,000 begins with a zero byte")
}

// Contents are hashed and come back as they are (case B131).
func TestContentsAreKept(t *testing.T) {
	k := newKey(t, signed.ES256)
	seen := map[string]bool{}
	for _, content := range []string{
		"caf\u00e9", "cafe\u0301", "<b>&", "\u2028", "text \n", "a\r\nb", "", "\U0001F642", "\x00\x7f\u0085", `\"`,
	} {
		r, err := signed.Open(set(k), message(t, k, content).Body, noon)
		if err != nil {
			t.Errorf("%q: %v", content, err)
			continue
		}
		if r.Message.Content != content || seen[r.Message.ContentSHA256] {
			t.Errorf("%q came back as %q, with a hash of another: %t", content, r.Message.Content, seen[r.Message.ContentSHA256])
		}
		seen[r.Message.ContentSHA256] = true
	}
}
