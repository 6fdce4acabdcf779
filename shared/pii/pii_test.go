package pii_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/pii"
)

type rule struct {
	Type, What, Needs, Pattern, Check, Edge string
	Found, Passed                           []string
}

func readRules(t testing.TB) []rule {
	t.Helper()
	b, err := os.ReadFile("rules.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	var all []rule
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// sample splits a sample into the text and the value in it.
func sample(s string) (text, value string) {
	before, rest, marked := strings.Cut(s, "«")
	if !marked {
		return s, s
	}
	value, after, _ := strings.Cut(rest, "»")
	return before + value + after, value
}

// Every sample of rules.json is found, or is not, alone and within text.
func TestRules(t *testing.T) {
	for _, r := range readRules(t) {
		t.Run(r.Type+", "+r.What, func(t *testing.T) {
			if len(r.Found) == 0 || len(r.Passed) == 0 {
				t.Error("no samples; want some of each")
			}
			for _, s := range r.Found {
				text, value := sample(s)
				for _, around := range []string{"%", "% ", " %", "see %, thanks", "(%)", "\"%\"", "%\n", "电话%号", "x: %;"} {
					if strings.HasPrefix(text, "-----") && !strings.Contains(text, "-----END") && !strings.HasSuffix(around, "%") {
						continue // takes all that follows
					}
					if around == "电话%号" && r.Type == "email" {
						continue // letters of an address
					}
					in := strings.Replace(around, "%", text, 1)
					var got []string
					for _, f := range pii.Find(in) {
						got = append(got, f.Type+" "+in[f.Start:f.End])
					}
					if diff := cmp.Diff([]string{r.Type + " " + value}, got); diff != "" {
						t.Errorf("%q (-want +got):\n%s", in, diff)
					}
				}
			}
			for _, s := range r.Passed {
				for _, f := range pii.Find(s) {
					if f.Type == r.Type {
						t.Errorf("%q: found %s %q; want none", s, f.Type, s[f.Start:f.End])
					}
				}
			}
		})
	}
}

// What is written with the spaces and hyphens of a typesetter, or with the digits
// of another keyboard, is found as if it were not, and the value is all of it.
func TestOtherCharacters(t *testing.T) {
	for name, other := range map[string]*strings.Replacer{
		"no-break":    strings.NewReplacer(" ", "\u00a0", "-", "\u2011"),
		"thin":        strings.NewReplacer(" ", "\u2009", "-", "\u2013"),
		"fullwidth":   strings.NewReplacer(" ", "\u3000", "-", "\uff0d", "+", "\uff0b", "@", "\uff20", "(", "\uff08", ".", "\uff0e", ":", "\uff1a", "4", "\uff14", "1", "\uff11"),
		"Arabic":      strings.NewReplacer("0", "٠", "1", "١", "2", "٢", "3", "٣", "4", "٤", "5", "٥", "6", "٦", "7", "٧", "8", "٨", "9", "٩"),
		"mathematics": strings.NewReplacer("0", "\U0001d7f6", "4", "\U0001d7fa", "9", "\U0001d7ff"),
	} {
		for _, r := range readRules(t) {
			if r.Type == "private_key" || r.Type == "api_key" || r.Type == "email" && name != "fullwidth" {
				continue // programs read them, in one form; digits of any script are letters of an address
			}
			for _, s := range r.Found {
				text, value := sample(s)
				text, value = other.Replace(text), other.Replace(value)
				var got []string
				for _, f := range pii.Find("é " + text + " é") {
					got = append(got, f.Type+" "+("é " + text + " é")[f.Start:f.End])
				}
				if diff := cmp.Diff([]string{r.Type + " " + value}, got); diff != "" {
					t.Errorf("%s: %q (-want +got):\n%s", name, text, diff)
				}
			}
		}
	}
	in := "card 4111111111111111\u2013expired \xff, call 415\u2011555\u20112671\u2014or not; 10\u201312 of 1\u202f234\u202f567, 2019\u20132024"
	if got, _ := pii.Redact(in); got != "card [card]\u2013expired \xff, call [phone]\u2014or not; 10\u201312 of 1\u202f234\u202f567, 2019\u20132024" {
		t.Errorf("Redact(%q) = %q", in, got)
	}
}

// What is not seen hides nothing: between any two characters of a value, of any
// type, it is part of the value; in front of it and behind it, it is not.
func TestInvisible(t *testing.T) {
	for _, between := range []string{
		"\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe00", "\ufe0f", "\U000e0100", // the joiners and spaces of no width, the soft hyphen, variation selectors
		"\u200e", "\u200f", "\u202c", "\u2066", "\u061c", "\u180e", "\u034f", "\u2064", "\U000e0041", "\u17b5", // marks of direction, and others
		"\u200b\u200b\ufeff",
	} {
		hide := func(s string) string { return strings.Join(strings.Split(s, ""), between) }
		for _, r := range readRules(t) {
			for _, s := range r.Found {
				if r.Type == "private_key" && !strings.Contains(s, "-----END") {
					continue // goes on to the end of the text
				}
				text, value := sample(s)
				hidden := "é " + between + hide(text) + between + " é" + between
				var got []string
				for _, f := range pii.Find(hidden) {
					got = append(got, f.Type+" "+hidden[f.Start:f.End])
				}
				if diff := cmp.Diff([]string{r.Type + " " + hide(value)}, got); diff != "" {
					t.Errorf("%q between the characters of %q (-want +got):\n%s", between, text, diff)
				}
			}
			for _, s := range r.Passed {
				for _, f := range pii.Find(hide(s)) {
					if f.Type == r.Type && len(pii.Find(s)) == 0 {
						t.Errorf("%q between the characters of %q: found %+v; want nothing", between, s, f)
					}
				}
			}
		}
	}
	// One among them, as an editor leaves it.
	in := "شماره\u200cکارت ۴۱۱۱ ۱۱۱۱ ۱۱\u200c۱۱ ۱۱۱۱\u200cاست; \ufeffana\u00ad@exam\u200bple.com\u200d, ☎\ufe0f\u202a+49 30 9018\u206020\u202c."
	if got, _ := pii.Redact(in); got != "شماره\u200cکارت [card]\u200cاست; \ufeff[email]\u200d, ☎\ufe0f\u202a[phone]\u202c." {
		t.Errorf("Redact(%q) = %q", in, got)
	}
}

// What people and programs write all day has nothing in it.
func TestNothingFound(t *testing.T) {
	for _, s := range []string{
		"", "hello", "The build took 12.5 s, 3 of 4,096 tests failed at 2026-07-19T12:00:00.000Z.",
		"msg_019b8b1c7d2a7c3e8f00112233445566 at 18446744073709551615",
		`{"id":"550e8400-e29b-41d4-a716-446655440000","n":1234567890,"t":1783598400}`,
		"git commit 67a0250e5b4a7c3d9f8e1b2a3c4d5e6f70819203, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"go1.26.8 linux/amd64, v0.19.0, 10.5 GB, 3.14159265358979, 1,000,000.00 EUR, $4.99",
		"std::vector<int>::iterator it; a ? b : c; key: value; http://localhost:8080/path?x=1#y",
		"func f(a, b int) (c int) { return a[0] + b*2 }",
		"Lorem ipsum dolor sit amet, consectetur adipiscing elit.",
		"2026-11-30 18:05:54 -0500", "1970-01-01", "12/31/1999", "ISBN 978-3-16-148410-0", "@alice and @bob", "5-10 days", "24/7", "9-1-1",
		// With joiners, marks of direction and variation selectors, where scripts and emoji have them.
		"می\u200cخواهم ۱۲\u200cتا کتاب\u200cهای ۱۴۰۳/۰۱/۱۵ را در ۲\u200cروز بخوانم؛ ساعت ۱۲:۳۰، ۱۴۰۲\u200c–\u200c۱۴۰۳", "سال ۱۴۰۳\u200cام، ۱٬۰۰۰٬۰۰۰\u200cتومان، ۳٫۱۴",
		"शक्\u200dति, क्\u200cष, श्री\u200d २०२६; ₹१,००,०००, १२\u200c३०, १५/०८/१९४७", "ক্\u200dষ ২০২৬, ශ්\u200dරී 2026, ക്\u200d 12",
		"👩\u200d💻👨\u200d👩\u200d👧\u200d👦 1\ufe0f\u20e32\ufe0f\u20e33\ufe0f\u20e3 4\ufe0f\u20e3 ❤\ufe0f 10 ✈\ufe0f 2026-11-30 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f #\ufe0f\u20e3",
		"4\ufe0f\u20e31\ufe0f\u20e31\ufe0f\u20e31\ufe0f\u20e3 steps", "Donau\u00addampf\u00adschiff 1\u00ad234\u00ad567", "\ufeff{\"n\":1234567890}", "\u202b12 مارس 2026\u202c", "ราคา\u200b1,200\u200bบาท\u200b24\u200bชั่วโมง",
	} {
		if got := pii.Find(s); len(got) > 0 {
			t.Errorf("%q: found %+v; want nothing", s, got)
		}
	}
}

// Values are replaced by their types and counted; everything else stays.
func TestRedact(t *testing.T) {
	in := "Ana <ana@example.com>, tel +49 30 901820 or bob@example.org; card 4111 1111 1111 1111, from 192.0.2.1\u2028."
	got, counts := pii.Redact(in)
	if want := "Ana <[email]>, tel [phone] or [email]; card [card], from [ip]\u2028."; got != want {
		t.Errorf("Redact = %q; want %q", got, want)
	}
	if diff := cmp.Diff([]pii.Count{{"card", 1}, {"email", 2}, {"ip", 1}, {"phone", 1}}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if again, counts := pii.Redact(got); again != got || counts != nil {
		t.Errorf("Redact again = %q, %v; want nothing more", again, counts)
	}
	if same, counts := pii.Redact("plain \xff"); same != "plain \xff" || counts != nil {
		t.Errorf("Redact of nothing = %q, %v", same, counts)
	}
}

// No text of the largest size takes long, whatever is in it: each is made of
// what a pattern begins with, so that every place is a candidate. Here that is
// under a second on an idle machine; what is quadratic takes minutes.
func TestLinear(t *testing.T) {
	size := 256 << 10
	if testing.Short() { // as with the race detector
		size = 16 << 10
	}
	for _, seed := range []string{
		"a", "1", "1 ", "4 ", "41 11", "4111 1111 1111 1112 ", "a@", "@", "a@a.", "a.", "a@a.b ", "+", "+1 ", "+49", "0", "01 ", "(0", "00", "0.", "1.1.1.", "1.", ":", "a:", "::", "f:f:",
		"-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "---- ", "eyJ", "eyJaaaaa.", "eyJaaaaa.eyJaaaaa ", "DE89 ", "GB82 WEST 1234 5698 7654 33 ", "AB12", "ssn ", "phone ", "tel 1", "call me at 1 ",
		"sk-", "ghp_a", "AKIA", "ak_a~", "own_", "xoxb-", "ask-", "xeyJaaaaa.eyJaaaaa.", "1-4111111111111111-", "123-45-0000 ", "415-155-2671 ", "(415) ", "\u00e9", "\xff", "\u2028", "\uff0b1", "\u00a04", "4\u2011", "\u0661", "\uff0e1", "\u200d", "4\u200b", "a@\u00ad", "\ufe0f1",
	} {
		text := strings.Repeat(seed, size/len(seed)+1)[:size]
		began := time.Now()
		pii.Find(text)
		d := time.Since(began)
		if d > 10*time.Second {
			t.Errorf("%q repeated: %v for %d bytes", seed, d, size)
		}
	}
}

// Find's promises hold for any text, and Redact leaves the rest as it was.
func FuzzFind(f *testing.F) {
	for _, r := range readRules(f) {
		for _, s := range slices.Concat(r.Found, r.Passed) {
			f.Add(s, s)
			f.Add(strings.Join(strings.Split(s, ""), "\u200b"), "\ufe0f")
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text := a + b
		found := pii.Find(text)
		end := 0
		var rest strings.Builder
		for _, v := range found {
			if v.Start < end || v.End <= v.Start || v.End > len(text) || v.Type == "" {
				t.Fatalf("%q: found %+v", text, found)
			}
			rest.WriteString(text[end:v.Start] + "[" + v.Type + "]")
			end = v.End
		}
		rest.WriteString(text[end:])
		if got, counts := pii.Redact(text); got != rest.String() || (counts == nil) != (len(found) == 0) {
			t.Errorf("Redact(%q) = %q, %v; want %q", text, got, counts, rest.String())
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("The build took 12.5 s; 3 of 4,096 tests failed. Ask ana@example.com, or call +49 30 901820: it's urgent.\n", 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if n := len(pii.Find(text)); n != 20 {
			b.Fatalf("%d findings; want 20", n)
		}
	}
}
