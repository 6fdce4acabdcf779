package ident_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentchat/shared/ident"
)

func FuzzAgent(f *testing.F) { fuzz(f, ident.ParseAgent, 64, "/\\%?#: ~@,*\"'<>&=+") }

func FuzzMessage(f *testing.F) { fuzz(f, ident.ParseMessage, 128, "/\\%?# ~@,*\"'<>&=+") }

func FuzzRequest(f *testing.F) { fuzz(f, ident.ParseRequest, 128, "/\\%?#: ~@,*\"'<>&=+") }

func FuzzGeneration(f *testing.F) { fuzz(f, ident.ParseGeneration, 16, "/\\%?#: ~@,*\"'<>&=+.-_") }

func FuzzKey(f *testing.F) { fuzz(f, ident.ParseKey, 32, "/\\%?#: ~@,*\"'<>&=+.-_") }

func FuzzChat(f *testing.F) { fuzz(f, ident.ParseChat, 37, "/\\%?#: ~@,*\"'<>&=+.-") }

func FuzzOperation(f *testing.F) { fuzz(f, ident.ParseOperation, 46, "/\\%?#: ~@,*\"'<>&=+.") }

func FuzzConversation(f *testing.F) { fuzz(f, ident.ParseConversation, 256, "") }

func FuzzCorrelation(f *testing.F) { fuzz(f, ident.ParseCorrelation, 256, "") }

// fuzz: what parses is what was given, has no control character and nothing of
// forbidden, and parses again; what does not parse gives no value.
func fuzz[T ~string](f *testing.F, parse func(string) (T, error), most int, forbidden string) {
	for _, s := range append(lookAlikes, "alice", "a.b-c_d", "msg_017f22e279b07cc398c4dc0c0c07398f", "0123456789abcdef", a(most), a(most+1)) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parse(s)
		if err != nil {
			if got != "" || !errors.Is(err, ident.ErrSyntax) {
				t.Fatalf("parse(%q): %q, %v; want no value and ErrSyntax", s, got, err)
			}
			return
		}
		if string(got) != s || s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || strings.ContainsAny(s, forbidden) {
			t.Fatalf("parse(%q): %q; want an error", s, got)
		}
		if again, err := parse(string(got)); again != got || err != nil {
			t.Fatalf("parse(%q): %q, %v; want what it was", got, again, err)
		}
	})
}
