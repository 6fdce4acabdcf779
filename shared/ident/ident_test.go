package ident_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentchat/shared/ident"
)

// a is n letters.
func a(n int) string { return strings.Repeat("a", n) }

// lookAlikes render as "alice", "ken" or "jose" and are none of them (cases
// B16, B17 and B19): control characters, path syntax, other alphabets, other
// compositions.
var lookAlikes = []string{
	"alice\n", "\nalice", "alice\r", "alice\r\n", "ali\x00ce", "alice\x00", "alice\t", "alice\x7f", "alice\u0085",
	"al/ice", "..", ".", "../bob", "bob/inbox/../carol", "al%2Fice", `al\ice`, "alice?", "alice#x",
	" alice", "alice ", "al ice", "alice\u00a0", "\ufeffalice",
	"\u0430lice", "alice\u200b", "ali\u200dce", "\uff41lice", "\u212aen", "jos\u00e9", "jose\u0301", "\u202ealice",
	"alice\xff", "\xc3", "al\xc0\xafice",
	"alice,bob", "alice;bob", "alice@h", "alice~1", "alice*", "{agent}", `"alice"`, "",
}

func TestAgent(t *testing.T) {
	check(t, ident.ParseAgent, "an agent id is 1-64 lower-case letters",
		[]string{"a", "0", "alice", "alice-2", "a.b_c-d", "a..b", "a--b", "0a", a(64), a(62) + "-a"},
		[]string{a(65), "Alice", "ALICE", ".alice", "alice.", "-alice", "alice-", "_alice", "alice_", "a:b", "-", "_"})
}

func TestMessage(t *testing.T) {
	check(t, ident.ParseMessage, "a message id is 1-128 letters",
		[]string{"a", "Z", "9", "msg_0123456789abcdef0123456789abcdef", "a:b.c-d_E", "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", a(128)},
		[]string{a(129), ".a", "a.", ":a", "a:", "_a", "a_", "-a", "a-", "a~b", "a+b", "a=", ":"})
}

func TestRequest(t *testing.T) {
	check(t, ident.ParseRequest, "a request id is 1-128 letters",
		[]string{"a", "Z9", "-", ".", "_", "..", "-a-", a(128)},
		[]string{a(129), "a:b", "a~b", "a/b", "a b"}, "..", ".") // an id that is in no path and no name
}

func TestGeneration(t *testing.T) {
	check(t, ident.ParseGeneration, "16 lower-case hexadecimal digits",
		[]string{"0123456789abcdef", strings.Repeat("f", 16)},
		[]string{strings.Repeat("f", 15), strings.Repeat("f", 17), "0123456789ABCDEF", "0123456789abcdeg"})
}

func TestKey(t *testing.T) {
	check(t, ident.ParseKey, "a key id is 1-32 lower-case letters or digits",
		[]string{"0", "a", "0123456789abcdef", a(32)},
		[]string{a(33), "A", "a-b", "a.b", "a_b", "a~b"})
}

func TestChat(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 2)
	check(t, ident.ParseChat, "chat_ and 32 lower-case hexadecimal digits",
		[]string{"chat_" + hex},
		[]string{"chat_", hex, "CHAT_" + hex, "chat-" + hex, "chat_" + hex[1:], "chat_" + hex + "0", "chat_" + strings.ToUpper(hex), "xchat_" + hex[1:], hex + "chat_"})
}

func TestOperation(t *testing.T) {
	check(t, ident.ParseOperation, "op_ and 43 characters of base64url",
		[]string{"op_" + a(43), "op_-_" + a(41), "op_" + a(42) + "-"},
		[]string{"op_", a(46), "Op_" + a(43), "op_" + a(42), "op_" + a(44), "op_" + a(42) + "=", "op_" + a(42) + "+", "op_" + a(42) + "/"})
}

// The other ids of signed chats are of one form with another prefix and length.
func TestDerived(t *testing.T) {
	letters := strings.Repeat("aZ9-_", 9)
	for _, c := range []struct {
		prefix string
		n      int
		parse  func(string) error
	}{
		{"b_", 43, parses(ident.ParseBatch)},
		{"f_", 32, parses(ident.ParseOwner)},
		{"own_", 22, parses(ident.ParseOwnerToken)},
	} {
		if err := c.parse(c.prefix + letters[:c.n]); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"", c.prefix, letters[:c.n], c.prefix + letters[:c.n-1], c.prefix + letters[:c.n+1], "x" + c.prefix[1:] + letters[:c.n], c.prefix + letters[:c.n-1] + "="} {
			if c.parse(bad) == nil {
				t.Errorf("%s: %q was taken", c.prefix, bad)
			}
		}
	}
}

func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

func TestConversationAndCorrelation(t *testing.T) {
	good := []string{
		"a", "/", "..", " ", "task-42", "Ünïcode 日本 \U0001F600", "a/b?c=d#e", "jos\u00e9", "jose\u0301", "\u2028",
		a(256), strings.Repeat("é", 128),
	}
	bad := []string{
		"", a(257), strings.Repeat("é", 128) + "a", "a\n", "\r", "a\x00b", "\t", "\x1b[31m", "\x7f", "\u0085", "\u009b31m",
		"\xff", "a\xc3", "\xed\xa0\x80",
	}
	checkOnly(t, ident.ParseConversation, "a conversation id is 1-256 bytes", good, bad)
	checkOnly(t, ident.ParseCorrelation, "a correlation id is 1-256 bytes", good, bad)
}

// check is checkOnly with all the look-alikes among the bad, but for some.
func check[T ~string](t *testing.T, parse func(string) (T, error), grammar string, good, bad []string, but ...string) {
	t.Helper()
	for _, s := range lookAlikes {
		if !strings.Contains(" "+strings.Join(but, " ")+" ", " "+s+" ") || s == "" {
			bad = append(bad, s)
		}
	}
	checkOnly(t, parse, grammar, good, bad)
}

// checkOnly parses by Parse and from JSON, which must agree.
func checkOnly[T ~string](t *testing.T, parse func(string) (T, error), grammar string, good, bad []string) {
	t.Helper()
	for _, s := range good {
		if got, err := parse(s); string(got) != s || err != nil {
			t.Errorf("parse(%q): %q, %v; want it as it is", s, got, err)
		}
		if got, err := fromJSON[T](t, s); string(got) != s || err != nil {
			t.Errorf("from JSON %q: %q, %v; want it as it is", s, got, err)
		}
	}
	for _, s := range bad {
		got, err := parse(s)
		if got != "" || !errors.Is(err, ident.ErrSyntax) || !strings.Contains(err.Error(), grammar) || strings.Contains(err.Error(), "alice") {
			t.Errorf("parse(%q): %q, %v; want ErrSyntax with the grammar and without the text", s, got, err)
		}
		if got, err := fromJSON[T](t, s); got != "before" || !errors.Is(err, ident.ErrSyntax) {
			t.Errorf("from JSON %q: %q, %v; want ErrSyntax and the value as it was", s, got, err)
		}
	}
}

// fromJSON returns what encoding/json makes of s over the value "before".
func fromJSON[T ~string](t *testing.T, s string) (T, error) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	v := T("before")
	if strings.ToValidUTF8(s, "") != s {
		// JSON can't carry it; a path and a header can.
		return v, any(&v).(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(s))
	}
	err = json.Unmarshal(b, &v)
	return v, err
}
