package cursor_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentchat/shared/cursor"
	"agentchat/shared/ident"
)

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// A cursor is the string that the protocol shows.
func TestProtocolExample(t *testing.T) {
	const example = "eyJ2IjoxLCJwIjp7ImJvYiI6NDN9fQ"
	if got := (cursor.Cursor{Moved: cursor.Vector{"bob": 43}}).String(); got != example {
		t.Errorf("bob at 43: %s; want %s", got, example)
	}
	c, err := cursor.Parse(example)
	if diff := cmp.Diff(cursor.Cursor{Moved: cursor.Vector{"bob": 43}}, c); err != nil || diff != "" {
		t.Errorf("Parse(%s): %v (-want +got):\n%s", example, err, diff)
	}
}

func TestParse(t *testing.T) {
	hash := cursor.Hash{1, 2, 3, 4, 5, 6, 7, 255}
	base := &cursor.Ref{Position: 7, N: 12, Hash: hash}
	for _, row := range []struct {
		name, text string
		want       cursor.Cursor
		canonical  string // what it is written as; "": as it was
	}{
		{"nothing read", `{"v":1,"p":{}}`, cursor.Cursor{Moved: cursor.Vector{}}, ""},
		{"sorted by bytes", `{"v":1,"p":{"a":1,"a-b":2,"a.b":3,"a0":4,"b":5}}`, cursor.Cursor{Moved: cursor.Vector{"a": 1, "a-b": 2, "a.b": 3, "a0": 4, "b": 5}}, ""},
		{"largest position", `{"v":1,"p":{"b":18446744073709551615}}`, cursor.Cursor{Moved: cursor.Vector{"b": 1<<64 - 1}}, ""},
		{"zero is absent", `{"v":1,"p":{"a":0,"b":1}}`, cursor.Cursor{Moved: cursor.Vector{"b": 1}}, `{"v":1,"p":{"b":1}}`},
		{"another order", `{"p":{"b":1,"a":2},"v":1}`, cursor.Cursor{Moved: cursor.Vector{"a": 2, "b": 1}}, `{"v":1,"p":{"a":2,"b":1}}`},
		{"white space", ` { "v" : 1 , "p" : {} } `, cursor.Cursor{Moved: cursor.Vector{}}, `{"v":1,"p":{}}`},
		{"checkpoint", `{"v":2,"c":7,"n":12,"h":"AQIDBAUGB_8"}`, cursor.Cursor{Base: base}, ""},
		{"checkpoint and moves", `{"v":2,"c":7,"n":12,"h":"AQIDBAUGB_8","p":{"a":0,"b":9}}`, cursor.Cursor{Base: base, Moved: cursor.Vector{"a": 0, "b": 9}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := cursor.Parse(encode(row.text))
			if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
				t.Fatalf("Parse: %v (-want +got):\n%s", err, diff)
			}
			want := row.canonical
			if want == "" {
				want = row.text
			}
			if got.String() != encode(want) {
				b, _ := base64.RawURLEncoding.DecodeString(got.String())
				t.Errorf("String: %s; want %s", b, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "eyJ2IjoxLCJwIjp7ImJvYiI6NDN9fQ"
	bad := map[string]string{
		"empty": "", "one character": "e", "a character more": good + "!", "padding": good + "==", "line feed within": good[:8] + "\n" + good[8:],
		"carriage return at the end": good + "\r", "stray bits": good[:len(good)-1] + "R", "standard alphabet": encode(`{"v":1,"p":{"a":1}}`) + "+/",
		"a space": good[:4] + " " + good[4:], "cut": good[:len(good)-2], "twice": good + good, "not base64url": "43",
	}
	for _, text := range []string{
		``, `null`, `[]`, `1`, `"x"`, `{}`, `{"v":1}`, `{"v":1,"p":null}`, `{"v":null,"p":{}}`, `{"p":{}}`, `{"v":0,"p":{}}`, `{"v":3,"p":{}}`, `{"v":"1","p":{}}`,
		`{"v":1.0,"p":{}}`, `{"v":1,"p":[]}`, `{"v":1,"p":{},"x":1}`, `{"v":1,"p":{},"n":1}`, `{"v":1,"p":{},"c":1}`, `{"v":1,"p":{},"h":"AQIDBAUGB_8"}`, `{"v":1,"v":1,"p":{}}`,
		`{"V":1,"p":{}}`, `{"v":1,"p":{}} {}`, `{"v":1,"p":{}}x`, `{"v":1,"p":{"bob":-1}}`, `{"v":1,"p":{"bob":1.5}}`, `{"v":1,"p":{"bob":1e3}}`, `{"v":1,"p":{"bob":"43"}}`,
		`{"v":1,"p":{"bob":null}}`, `{"v":1,"p":{"bob":18446744073709551616}}`, `{"v":1,"p":{"bob":1,"bob":1}}`, `{"v":1,"p":{"../x":1}}`, `{"v":1,"p":{"Bob":1}}`, `{"v":1,"p":{"":1}}`,
		`{"v":1,"p":{"b` + "\xff" + `":1}}`, `{"v":2,"p":{}}`, `{"v":2,"c":1,"n":1}`, `{"v":2,"c":1,"h":"AQIDBAUGB_8"}`, `{"v":2,"n":1,"h":"AQIDBAUGB_8"}`,
		`{"v":2,"c":-1,"n":1,"h":"AQIDBAUGB_8"}`, `{"v":2,"c":1,"n":1,"h":"AQIDBAUGB_9"}`, `{"v":2,"c":1,"n":1,"h":"AQIDBAUGBw"}`, `{"v":2,"c":1,"n":1,"h":"AQID\nBAUGB_8"}`,
		`{"v":2,"c":1,"n":1,"h":""}`, `{"v":2,"c":1,"n":1,"h":"AQIDBAUGB_8","p":null}`,
	} {
		bad[text] = encode(text)
	}
	for name, s := range bad {
		if c, err := cursor.Parse(s); err != cursor.ErrSyntax { //nolint:errorlint // identity is meant
			t.Errorf("%s: Parse(%q) = %+v, %v; want ErrSyntax", name, s, c, err)
		}
	}
}

// What is written is read back, and is as long as was said before.
func TestRoundTrip(t *testing.T) {
	agents := rapid.Map(rapid.StringMatching(`[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?`), func(s string) ident.Agent { return ident.Agent(s) })
	rapid.Check(t, func(t *rapid.T) {
		c := cursor.Cursor{Moved: rapid.MapOfN(agents, rapid.Uint64Min(1), 0, 20).Draw(t, "moved")}
		entries := 0
		for a, at := range c.Moved {
			entries += cursor.Entry(a, at)
		}
		size := cursor.Size(entries)
		if rapid.Bool().Draw(t, "v2") {
			c.Base = &cursor.Ref{Position: rapid.Uint64().Draw(t, "c"), N: rapid.Uint64().Draw(t, "n"), Hash: cursor.Hash(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "h"))}
			size = cursor.SizeOver(*c.Base, entries)
		}
		s := c.String()
		if len(s) != size {
			t.Fatalf("%+v has %d bytes; %d were said", c, len(s), size)
		}
		got, err := cursor.Parse(s)
		if len(c.Moved) == 0 && c.Base != nil {
			c.Moved = nil
		}
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// FuzzParse: nothing foreign is taken for a cursor that does not mean what it
// is then written as.
func FuzzParse(f *testing.F) {
	f.Add("eyJ2IjoxLCJwIjp7ImJvYiI6NDN9fQ")
	f.Add(encode(`{"v":2,"c":7,"n":12,"h":"AQIDBAUGB_8","p":{"a":0,"b":9}}`))
	f.Add(strings.Repeat("A", 40))
	f.Fuzz(func(t *testing.T, s string) {
		c, err := cursor.Parse(s)
		if err != nil {
			return
		}
		again, err := cursor.Parse(c.String())
		if diff := cmp.Diff(c, again); err != nil || diff != "" && len(c.Moved)+len(again.Moved) > 0 {
			t.Errorf("%q: %v (-first +second):\n%s", s, err, diff)
		}
		for a := range c.Moved {
			if _, err := ident.ParseAgent(string(a)); err != nil {
				t.Errorf("%q has an agent %q", s, a)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	v := cursor.Vector{}
	for i := range 10_000 {
		v[ident.Agent(fmt.Sprintf("agent-%05d", i))] = uint64(i + 1)
	}
	s := cursor.Cursor{Moved: v}.String()
	for b.Loop() {
		if _, err := cursor.Parse(s); err != nil {
			b.Fatal(err)
		}
	}
}
