package signed_test

import (
	"bytes"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

var update = flag.Bool("update", false, "make the test vectors anew, with new keys")

const vectorFile = "testdata/vectors/records.json"

// The vectors as testdata/vectors/README.md explains them.
type vectorSet struct {
	Protocol string          `json:"protocol"`
	Keys     json.RawMessage `json:"keys"`
	Vectors  []vector        `json:"vectors"`
	Derived  []derivation    `json:"derived"`
}

type derivation struct {
	Name   string   `json:"name"`
	Lines  []string `json:"lines,omitempty"`
	Fields []string `json:"fields,omitempty"`
	Key    *string  `json:"key,omitempty"`
	ID     string   `json:"id"`
}

// derivations are the ids that we derive, and of what.
func derivations() []derivation {
	const (
		key   = "the key of the vectors"
		claim = "claim-1"
		id    = ident.Message("order:42.a_b-c")
		next  = api.Position(1 << 63)
	)
	k, c, bob := key, string(chat), signed.StreamID(chat, "bob")
	token := signed.NewOwnerToken([]byte(key), chat, "alice", claim)
	owner := signed.OwnerOf(chat, "alice", token)
	batch := signed.BatchID([]byte(key), chat, "alice", bob, gen, 1, next)
	const op = "yello.operation.v1"
	return []derivation{
		{"client message id", []string{"yello.client-message.v1", c, "alice", string(id)}, nil, nil, signed.ClientMessageID(chat, "alice", id)},
		{"operation of a message", []string{op, c, "alice", string(id)}, nil, nil, string(signed.MessageOperation(chat, "alice", id))},
		{"operation of a receipt", []string{op, c, "alice", "receipt", string(batch)}, nil, nil, string(signed.ReceiptOperation(chat, "alice", batch))},
		{"operation of a claim", []string{op, c, "alice", "claim", string(owner)}, nil, nil, string(signed.ClaimOperation(chat, "alice", owner))},
		{"operation of a genesis", []string{op, c, "alice", "genesis", string(gen)}, nil, nil, string(signed.GenesisOperation(chat, "alice", gen))},
		{"owner's token", nil, []string{"owner", c, "alice", claim}, &k, string(token)},
		{"owner id", nil, []string{c, "alice", string(token)}, nil, string(owner)},
		{"batch id", nil, []string{"batch", c, "alice", bob, string(gen), "1", "9223372036854775808"}, &k, string(batch)},
	}
}

type vector struct {
	Name    string        `json:"name"`
	Record  string        `json:"record"`
	Stored  string        `json:"stored,omitempty"`
	Reason  signed.Reason `json:"reason,omitempty"`  // "": good
	Payload string        `json:"payload,omitempty"` // of a good message
}

func readVectors(t testing.TB) (vectorSet, *signed.Set) {
	t.Helper()
	b, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var v vectorSet
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	keys, err := signed.ParseSet(v.Keys)
	if err != nil {
		t.Fatal(err)
	}
	return v, keys
}

// What the vectors say of each record is so.
func TestVectors(t *testing.T) {
	if *update {
		writeVectors(t)
	}
	set, keys := readVectors(t)
	good := 0
	for _, v := range set.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			var stored time.Time
			if v.Stored != "" {
				var err error
				if stored, err = time.Parse(time.RFC3339Nano, v.Stored); err != nil {
					t.Fatal(err)
				}
			}
			r, err := signed.Open(keys, []byte(v.Record), stored)
			if reason(err) != v.Reason || (err == nil) != (v.Reason == "") {
				t.Fatalf("Open: %v; want %q", err, v.Reason)
			}
			if err != nil {
				return
			}
			good++
			if again := encode(t, r); string(again.Body) != v.Record {
				t.Errorf("again %s; want %s", again.Body, v.Record)
			}
			if v.Payload != "" {
				sig := r.Message.Signature
				if err := keys.Verify(sig.KID, signed.ES256, []byte(v.Payload), sig.Value, sig.CreatedAt.Time); err != nil {
					t.Errorf("the payload: %v", err)
				}
			}
		})
	}
	if diff := cmp.Diff(derivations(), set.Derived); diff != "" {
		t.Errorf("ids (-derived +vectors):\n%s", diff)
	}
	if good < 10 || len(set.Vectors) < 60 {
		t.Errorf("%d vectors, %d of them good; want more of each", len(set.Vectors), good)
	}
}

// writeVectors makes the vectors: good records, and one thing wrong at a time.
func writeVectors(t *testing.T) {
	m := newVectorMaker(t)
	m.good()
	m.altered()
	m.signatures()
	m.keyed()
	m.forms()
	m.others()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(vectorSet{signed.Protocol, m.public(), m.vectors, derivations()}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

type vectorMaker struct {
	t                                     *testing.T
	retired, current, second, revoked, ed *signed.Key

	set     *signed.Set // of retired, current and ed, the first with an end
	base    string      // a good record
	vectors []vector
}

func newVectorMaker(t *testing.T) *vectorMaker {
	key := func(alg signed.Alg, days int) *signed.Key {
		at := noon.Add(time.Duration(days) * 24 * time.Hour)
		k, err := signed.NewKey(alg, at, at)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	m := &vectorMaker{
		t: t, retired: key(signed.ES256, -20), current: key(signed.ES256, -10), second: key(signed.ES256, -5),
		revoked: key(signed.ES256, -10), ed: key(signed.EdDSA, -10),
	}
	m.set = set(m.retired, m.current, m.ed)
	m.base = m.message("hello", noon, m.current)
	return m
}

// public returns the published keys, with a revoked one as a private set has it.
func (m *vectorMaker) public() json.RawMessage {
	revoked, _ := set(m.revoked).Revoke(m.revoked.ID)
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	for _, b := range [][]byte{m.set.Public(), set(m.second).Public(), revoked.Private()} {
		keys := all
		keys.Keys = nil
		if err := json.Unmarshal(b, &keys); err != nil {
			m.t.Fatal(err)
		}
		all.Keys = append(all.Keys, keys.Keys...)
	}
	b, err := json.Marshal(all)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

func (m *vectorMaker) message(content string, at time.Time, k *signed.Key) string {
	m.t.Helper()
	d := draft(content)
	d.CreatedAt = at
	msg, err := signed.Sign(k, d)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(encode(m.t, &signed.Record{
		ChatID: chat, AuthorAgentID: d.From, OperationID: signed.MessageOperation(chat, d.From, d.MessageID), AuthoredWith: signed.AgentKey, Message: msg,
	}).Body)
}

func (m *vectorMaker) add(name, record string, want signed.Reason) {
	m.vectors = append(m.vectors, vector{Name: name, Record: record, Reason: want})
}

// change adds base with each old replaced by new, which must be there.
func (m *vectorMaker) change(name string, want signed.Reason, oldnew ...string) {
	m.t.Helper()
	r := m.base
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(r, oldnew[i]) {
			m.t.Fatalf("%s: no %q in %s", name, oldnew[i], r)
		}
		r = strings.Replace(r, oldnew[i], oldnew[i+1], 1)
	}
	m.add(name, r, want)
}

func (m *vectorMaker) good() {
	for _, c := range []struct{ name, content string }{
		{"plain", "hello"},
		{"empty content", ""},
		{"composed (NFC)", "caf\u00e9"},
		{"decomposed (NFD)", "cafe\u0301"},
		{"characters of HTML", "<b>&amp;</b> '\""},
		{"U+2028 and U+2029", "a\u2028b\u2029c"},
		{"white space at the ends", " text \n"},
		{"CRLF", "a\r\nb"},
		{"emoji of four bytes", "\U0001F642 \U0001F469\u200d\U0001F692"},
		{"control characters", "\x00\x01\b\t\f\x1b[31m\x7f\u0085"},
		{"backslashes and slashes", `\u00e9 \\ / \/`},
		{"text that looks like a payload", "yello.chat.message.v1\n" + string(chat) + "\nalice\nbob"},
		{"4 KiB of two-byte characters", strings.Repeat("\u00e9", 2<<10)},
	} {
		m.add(c.name, m.message(c.content, noon, m.current), "")
	}
	m.add("signed in the first millisecond of the key", m.message("x", m.current.NotBefore, m.current), "")
	retired := m.set.Keys()[0]
	m.add("signed by a key that is retired", m.message("x", noon.Add(-15*24*time.Hour), m.retired), "")
	m.add("signed in the last millisecond of a retired key", m.message("x", retired.NotAfter, m.retired), "")
	for i := range m.vectors {
		m.vectors[i].Payload = payloadOf(m.t, m.vectors[i].Record)
	}
}

func payloadOf(t *testing.T, record string) string {
	var r struct {
		Message struct {
			ChatID, FromAgentID, ToAgentID, ContentSha256 string
			Signature                                     struct{ CreatedAt string }
		}
	}
	if err := json.Unmarshal([]byte(record), &r); err != nil {
		t.Fatal(err)
	}
	msg := r.Message
	return strings.Join([]string{signed.Protocol, msg.ChatID, msg.FromAgentID, msg.ToAgentID, msg.Signature.CreatedAt, msg.ContentSha256}, "\n")
}

// altered changes each thing that is signed, and each that must agree.
func (m *vectorMaker) altered() {
	other := strings.Replace(string(chat), "0", "1", 1)
	m.change("another content", signed.WrongHash, `"content":"hello"`, `"content":"hellO"`)
	m.change("another content with its hash", signed.WrongSignature,
		`"content":"hello"`, `"content":"hellO"`, signed.ContentSHA256("hello"), signed.ContentSHA256("hellO"))
	m.change("the hash of the content with a line feed", signed.WrongHash, signed.ContentSHA256("hello"), signed.ContentSHA256("hello\n"))
	m.change("the hash padded", signed.WrongHash, signed.ContentSHA256("hello"), signed.ContentSHA256("hello")+"=")
	m.change("composed content made decomposed", signed.WrongHash, `"content":"hello"`, `"content":"cafe`+"\u0301"+`"`, signed.ContentSHA256("hello"), signed.ContentSHA256("caf\u00e9"))
	m.change("another recipient", signed.WrongSignature, `"toAgentId":"bob"`, `"toAgentId":"eve"`)
	m.change("another sender", signed.WrongSignature, `"authorAgentId":"alice"`, `"authorAgentId":"eve"`, `"fromAgentId":"alice"`, `"fromAgentId":"eve"`)
	m.change("another chat", signed.WrongSignature, `"chatId":"`+string(chat), `"chatId":"`+other, `"message":{"chatId":"`+string(chat), `"message":{"chatId":"`+other)
	m.change("another time", signed.WrongSignature, `"createdAt":"2026-07-19T12:00:00.000Z"`, `"createdAt":"2026-07-19T12:00:00.001Z"`)
	m.change("a wrapper of another chat", signed.Mismatch, `"chatId":"`+string(chat), `"chatId":"`+other)
	m.change("a wrapper of another author", signed.Mismatch, `"authorAgentId":"alice"`, `"authorAgentId":"bob"`)
	m.change("from and to one agent", signed.Mismatch, `"toAgentId":"bob"`, `"toAgentId":"alice"`)
	m.change("a line feed in the chat id", signed.Malformed, `"message":{"chatId":"`+string(chat)+`"`, `"message":{"chatId":"c1\nalice"`)
	m.change("a line feed in the sender", signed.Malformed, `"fromAgentId":"alice"`, `"fromAgentId":"alice\nbob"`)
	m.change("a line feed in the time", signed.Malformed, `12:00:00.000Z"`, `12:00:00.000Z\nX"`)
	m.change("a control character in the hash", signed.ControlCharacter, `"contentSha256":"`, `"contentSha256":"`+"\u0085")
	at := len(m.vectors)
	m.add("stored five minutes after it was signed", m.base, "")
	m.add("stored five minutes before it was signed", m.base, "")
	m.add("stored later than that", m.base, signed.StoreTime)
	m.add("stored earlier than that", m.base, signed.StoreTime)
	for i, d := range []time.Duration{5 * time.Minute, -5 * time.Minute, 5*time.Minute + time.Millisecond, -5*time.Minute - time.Millisecond} {
		m.vectors[at+i].Stored = noon.Add(d).Format("2006-01-02T15:04:05.000Z")
	}
}

// signatures are the forms of one signature, and others.
func (m *vectorMaker) signatures() {
	_, rest, _ := strings.Cut(m.base, `"value":"`)
	value := rest[:86]
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		m.t.Fatal(err)
	}
	set := func(name string, want signed.Reason, v string) {
		m.t.Helper()
		m.change(name, want, value, v)
	}
	encode := base64.RawURLEncoding.EncodeToString
	flipped := bytes.Clone(raw)
	flipped[40] ^= 1
	m.add("the other s that ECDSA takes", otherS(m.t, m.base), "")
	set("one bit changed", signed.WrongSignature, encode(flipped))
	set("r and s exchanged", signed.WrongSignature, encode(append(bytes.Clone(raw[32:]), raw[:32]...)))
	set("zero", signed.WrongSignature, encode(make([]byte, 64)))
	set("DER", signed.SignatureForm, encode(derOf(raw)))
	set("padded", signed.SignatureForm, value+"==")
	set("bits that stand for nothing", signed.SignatureForm, value[:85]+string(nextOf(value[85])))
	set("a byte short", signed.SignatureForm, encode(raw[:63]))
	set("a byte long", signed.SignatureForm, encode(append(bytes.Clone(raw), 0)))
	set("empty", signed.SignatureForm, "")
	set("a line feed in it", signed.SignatureForm, value[:40]+`\n`+value[40:])
	set("standard alphabet", signed.SignatureForm, strings.Repeat("+/", 43))
	for i := 0; ; i++ { // one of 256 has a zero byte in front
		record := m.message("x", noon.Add(time.Duration(i)*time.Millisecond), m.current)
		_, rest, _ := strings.Cut(record, `"value":"`)
		sig, _ := base64.RawURLEncoding.DecodeString(rest[:86])
		if sig[0] == 0 || sig[32] == 0 {
			m.add("a number of less than 32 bytes", record, "")
			return
		}
	}
}

// otherS returns record with the twin of its signature: s of the other half.
func otherS(t *testing.T, record string) string {
	t.Helper()
	_, rest, _ := strings.Cut(record, `"value":"`)
	raw, err := base64.RawURLEncoding.DecodeString(rest[:86])
	if err != nil {
		t.Fatal(err)
	}
	n := elliptic.P256().Params().N
	new(big.Int).Sub(n, new(big.Int).SetBytes(raw[32:])).FillBytes(raw[32:])
	return strings.Replace(record, rest[:86], base64.RawURLEncoding.EncodeToString(raw), 1)
}

// derOf is how low-level libraries write a signature.
func derOf(raw []byte) []byte {
	var body []byte
	for _, half := range [][]byte{raw[:32], raw[32:]} {
		b := bytes.TrimLeft(half, "\x00")
		if len(b) == 0 || b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		body = append(append(body, 2, byte(len(b))), b...)
	}
	return append([]byte{0x30, byte(len(body))}, body...)
}

// nextOf returns the character behind c, which stands for the same bytes at the end of 64.
func nextOf(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)+1]
}

// keyed is about kid, alg and the time of the key.
func (m *vectorMaker) keyed() {
	kid := `"kid":"` + m.current.ID + `"`
	m.change("the kid of another key", signed.WrongSignature, kid, `"kid":"`+m.second.ID+`"`)
	m.change("an unknown kid", signed.UnknownKey, kid, `"kid":"k9"`)
	m.change("an empty kid", signed.UnknownKey, kid, `"kid":""`)
	m.change("no kid", signed.Malformed, kid+",", "")
	m.change("a kid that is a path", signed.UnknownKey, kid, `"kid":"../`+m.current.ID+`"`)
	m.change("the kid of an Ed25519 key", signed.WrongAlgorithm, kid, `"kid":"`+m.ed.ID+`"`)
	for _, alg := range []string{"none", "HS256", "ES384", "es256", "EdDSA", ""} {
		m.change(fmt.Sprintf("alg %q", alg), signed.WrongAlgorithm, `"alg":"ES256"`, `"alg":"`+alg+`"`)
	}
	m.add("signed by a revoked key", m.message("x", noon, m.revoked), signed.RevokedKey)
	early := m.message("x", m.current.NotBefore, m.current)
	m.add("dated before the key", strings.Replace(early, "12:00:00.000Z", "11:59:59.999Z", 1), signed.KeyTime)
	late := m.message("x", m.set.Keys()[0].NotAfter, m.retired)
	m.add("dated after the key", strings.Replace(late, ":00.000Z", ":00.001Z", 1), signed.KeyTime)
	m.change("the kid of a key that was retired by then", signed.KeyTime, kid, `"kid":"`+m.retired.ID+`"`)
}

// forms are other ways to write what the base says, and members that are wrong.
func (m *vectorMaker) forms() {
	bad := func(name string, oldnew ...string) { m.t.Helper(); m.change(name, signed.Malformed, oldnew...) }
	bad("white space", `,"version"`, `, "version"`)
	m.add("a line end behind it", m.base+"\n", signed.Malformed)
	m.add("a byte order mark", "\ufeff"+m.base, signed.Malformed)
	m.add("two records", m.base+m.base, signed.Malformed)
	m.add("nothing", "", signed.Malformed)
	m.add("null", "null", signed.Malformed)
	m.add("the message without its wrapper", m.base[strings.Index(m.base, `"message":`)+len(`"message":`):len(m.base)-1], signed.Malformed)
	bad("an escape that need not be", `"hello"`, `"\u0068ello"`)
	bad("an escaped slash", `"hello"`, `"\/ello"`)
	bad("half a surrogate pair", `"hello"`, `"\ud83d"`)
	bad("members in another order", `"protocol":"yello.chat.message.v1","version":2`, `"version":2,"protocol":"yello.chat.message.v1"`)
	bad("an unknown member", `,"version"`, `,"more":1,"version"`)
	bad("an unknown member of the message", `"content":`, `"more":1,"content":`)
	bad("a member twice", `"content":"hello"`, `"content":"hello","content":"hello"`)
	bad("a member in another case", `"content":`, `"Content":`)
	bad("null for a member", `"content":"hello"`, `"content":null`)
	bad("a number for the content", `"content":"hello"`, `"content":1`)
	bad("another protocol", `"protocol":"yello.chat.message.v1"`, `"protocol":"yello.chat.message.v2"`)
	bad("version 1", `"version":2`, `"version":1`)
	bad("a version that is text", `"version":2`, `"version":"2"`)
	bad("a version with a fraction", `"version":2`, `"version":2.0`)
	bad("a negative index", `"recordIndex":0`, `"recordIndex":-1`)
	bad("an index beyond a batch", `"recordIndex":0`, `"recordIndex":1000`)
	bad("an exponent", `"recordIndex":0`, `"recordIndex":0e0`)
	bad("an unknown credential", `"authoredWith":"agent_key"`, `"authoredWith":"agent"`)
	bad("another type", `"type":"chat.message"`, `"type":"chat.receipt"`)
	bad("an unknown type", `"type":"chat.message"`, `"type":"chat.note"`)
	bad("a message and a genesis", `"message":`, `"genesis":{"generation":"0123456789abcdef","peerAgentId":"bob"},"message":`)
	bad("an agent in capitals", `"toAgentId":"bob"`, `"toAgentId":"Bob"`)
	bad("a chat id of another form", `"chatId":"`+string(chat)+`"`, `"chatId":"c1"`)
	bad("an operation id of another form", `"operationId":"op_`, `"operationId":"`)
	bad("a client message id of another form", `"clientMessageId":"cmid_`, `"clientMessageId":"cmid_=`)
	const at = `"createdAt":"2026-07-19T12:00:00.000Z"`
	for _, s := range []string{
		"2026-07-19T12:00:00Z", "2026-07-19T12:00:00.00Z", "2026-07-19T12:00:00.0000Z", "2026-07-19T12:00:00,000Z", "2026-07-19t12:00:00.000z",
		"2026-07-19T14:00:00.000+02:00", "2026-07-19T12:00:00.000-00:00", "2026-07-19 12:00:00.000Z", "2026-07-19T24:00:00.000Z", "2026-02-29T12:00:00.000Z", "2026-07-19T23:59:60.000Z",
	} {
		bad("the time "+s, at, `"createdAt":"`+s+`"`)
	}
}

// others are the records without a signature.
func (m *vectorMaker) others() {
	key := []byte("the key of the vectors")
	token := signed.NewOwnerToken(key, chat, "alice", "claim-1")
	owner := signed.OwnerOf(chat, "alice", token)
	bob := signed.StreamID(chat, "bob")
	batch := signed.BatchID(key, chat, "alice", bob, gen, 1, 3)
	record := func(op ident.Operation, f func(*signed.Record)) string {
		r := &signed.Record{ChatID: chat, AuthorAgentID: "alice", OperationID: op, AuthoredWith: signed.Fleet}
		f(r)
		return string(encode(m.t, r).Body)
	}
	genesis := record(signed.GenesisOperation(chat, "alice", gen), func(r *signed.Record) {
		r.Genesis = &signed.Genesis{Generation: gen, PeerAgentID: "bob"}
	})
	receipt := record(signed.MessageOperation(chat, "alice", "m1"), func(r *signed.Record) {
		r.RecordIndex = 1
		r.Receipt = &signed.Receipt{PeerStreamID: bob, PeerGeneration: gen, NextPosition: 3, BatchID: batch}
	})
	fence := record(signed.ClaimOperation(chat, "alice", owner), func(r *signed.Record) {
		r.Fence = &signed.Fence{Owner: owner, ReviewedTail: 1, Generation: gen}
	})
	m.add("a genesis", genesis, "")
	m.add("a receipt", receipt, "")
	m.add("a fence", fence, "")
	m.add("a fence with a former owner, at the last position", strings.Replace(fence, `"reviewedTail":"1"`, `"previousOwner":"`+string(owner)+`","reviewedTail":"18446744073709551615"`, 1), "")
	for _, c := range []struct {
		name, record, old, new string
		want                   signed.Reason
	}{
		{"a genesis of one agent", genesis, `"peerAgentId":"bob"`, `"peerAgentId":"alice"`, signed.Mismatch},
		{"a generation of another form", genesis, `"generation":"0123`, `"generation":"012G`, signed.Malformed},
		{"a receipt of one's own direction", receipt, bob, signed.StreamID(chat, "alice"), signed.Mismatch},
		{"a receipt of another chat", receipt, bob, strings.Replace(bob, "0", "1", 1), signed.Mismatch},
		{"a receipt of another stream", receipt, bob, "inbox/bob", signed.Mismatch},
		{"a position that is a number", receipt, `"nextPosition":"3"`, `"nextPosition":3`, signed.Malformed},
		{"a position with a zero in front", receipt, `"nextPosition":"3"`, `"nextPosition":"03"`, signed.Malformed},
		{"a position beyond 64 bits", receipt, `"nextPosition":"3"`, `"nextPosition":"18446744073709551616"`, signed.Malformed},
		{"a negative position", receipt, `"nextPosition":"3"`, `"nextPosition":"-3"`, signed.Malformed},
		{"a batch id of another form", receipt, `"batchId":"b_`, `"batchId":"`, signed.Malformed},
		{"an owner id of another form", fence, `"owner":"f_`, `"owner":"own_`, signed.Malformed},
		{"an empty former owner", fence, `"reviewedTail"`, `"previousOwner":"","reviewedTail"`, signed.Malformed},
	} {
		if !strings.Contains(c.record, c.old) {
			m.t.Fatalf("%s: no %q in %s", c.name, c.old, c.record)
		}
		m.add(c.name, strings.Replace(c.record, c.old, c.new, 1), c.want)
	}
}
