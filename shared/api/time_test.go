package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentchat/shared/api"
)

// TestTimeRead gives each form of a time its one verdict: how it is written
// again, or "" if it is refused.
func TestTimeRead(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"UTC", "2026-07-19T12:00:00Z", "2026-07-19T12:00:00.000Z"},
		{"zone ahead", "2026-07-19T12:00:00+02:00", "2026-07-19T10:00:00.000Z"},
		{"zone behind", "2026-07-19T23:30:00-01:30", "2026-07-20T01:00:00.000Z"},
		{"zone of zero", "2026-07-19T12:00:00+00:00", "2026-07-19T12:00:00.000Z"},
		{"unknown local offset", "2026-07-19T12:00:00-00:00", "2026-07-19T12:00:00.000Z"},
		{"widest zone", "2026-07-19T12:00:00+23:59", "2026-07-18T12:01:00.000Z"},
		{"one digit of fraction", "2026-07-19T12:00:00.1Z", "2026-07-19T12:00:00.100Z"},
		{"digits behind the millisecond", "2026-07-19T12:00:00.0999999999999Z", "2026-07-19T12:00:00.099Z"},
		{"fraction and zone", "2026-07-19T12:00:00.5+02:00", "2026-07-19T10:00:00.500Z"},
		{"leap day", "2028-02-29T12:00:00Z", "2028-02-29T12:00:00.000Z"},
		{"first instant", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"},
		{"last instant", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"},
		{"year 0 that is year 1 in UTC", "0000-12-31T23:30:00-01:00", "0001-01-01T00:30:00.000Z"},

		{"hour of one digit", "2026-07-19T1:00:00Z", ""},
		{"hour of one digit and a zone", "2026-07-19T1:00:00+02:00", ""},
		{"minute of one digit", "2026-07-19T12:0:00Z", ""},
		{"second of one digit", "2026-07-19T12:00:0Z", ""},
		{"month of one digit", "2026-7-19T12:00:00Z", ""},
		{"comma before the fraction", "2026-07-19T12:00:00,5Z", ""},
		{"comma before the fraction and a zone", "2026-07-19T12:00:00,5+02:00", ""},
		{"dot without a fraction", "2026-07-19T12:00:00.Z", ""},
		{"leap second", "2026-07-19T23:59:60Z", ""},
		{"real leap second", "2016-12-31T23:59:60Z", ""},
		{"hour 24", "2026-07-19T24:00:00Z", ""},
		{"minute 60", "2026-07-19T12:60:00Z", ""},
		{"zone of 24 hours", "2026-07-19T12:00:00+24:00", ""},
		{"zone of 24 hours behind", "2026-07-19T12:00:00-24:00", ""},
		{"zone of 60 minutes", "2026-07-19T12:00:00+00:60", ""},
		{"zone without a colon", "2026-07-19T12:00:00+0200", ""},
		{"zone of hours", "2026-07-19T12:00:00+02", ""},
		{"no zone", "2026-07-19T12:00:00", ""},
		{"lower-case t", "2026-07-19t12:00:00Z", ""},
		{"lower-case z", "2026-07-19T12:00:00z", ""},
		{"space for T", "2026-07-19 12:00:00Z", ""},
		{"no seconds", "2026-07-19T12:00Z", ""},
		{"date", "2026-07-19", ""},
		{"no leap year", "2026-02-29T12:00:00Z", ""},
		{"month 0", "2026-00-19T12:00:00Z", ""},
		{"day 32", "2026-07-32T12:00:00Z", ""},
		{"year 0", "0000-01-01T00:00:00Z", ""},
		{"year 1 that is year 0 in UTC", "0001-01-01T00:00:00+00:01", ""},
		{"year 10000", "10000-01-01T00:00:00Z", ""},
		{"year 9999 that is 10000 in UTC", "9999-12-31T23:59:59-00:01", ""},
		{"sign before the year", "+2026-07-19T12:00:00Z", ""},
		{"space behind", "2026-07-19T12:00:00Z ", ""},
		{"line end behind", "2026-07-19T12:00:00Z\n", ""},
		{"minus sign of Unicode", "2026-07-19T12:00:00\u221201:00", ""},
		{"digits of Unicode", "2026-07-19T12:00:0\u0660Z", ""},
		{"seconds since 1970", "1784462400", ""},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fromText, fromJSON, fromEscapes api.Time
			quoted, err := json.Marshal(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "UnmarshalText", tt.want, fromText.UnmarshalText([]byte(tt.in)), &fromText)
			check(t, "UnmarshalJSON", tt.want, json.Unmarshal(quoted, &fromJSON), &fromJSON)
			if tt.in != "" {
				check(t, "UnmarshalJSON of escapes", tt.want, json.Unmarshal([]byte(escape(tt.in)), &fromEscapes), &fromEscapes)
			}
		})
	}
}

func check(t *testing.T, call, want string, err error, after *api.Time) {
	t.Helper()
	if want == "" {
		if err == nil || !after.IsZero() {
			t.Errorf("%s: %v, err = %v; want an error and no change", call, after, err)
		}
		return
	}
	got, merr := after.MarshalText()
	if err != nil || merr != nil || string(got) != want {
		t.Errorf("%s: %s, err = %v, %v; want %s", call, got, err, merr, want)
	}
}

// escape returns s as a JSON string whose first byte is written as \u00xx.
func escape(s string) string {
	q, err := json.Marshal(s[1:])
	if err != nil {
		panic(err) // not reached: strings can be encoded
	}
	const hex = "0123456789abcdef"
	return `"\u00` + string(hex[s[0]>>4]) + string(hex[s[0]&15]) + strings.TrimPrefix(string(q), `"`)
}

func TestTimeOtherJSON(t *testing.T) {
	for _, in := range []string{`null`, `1`, `true`, `{}`, `[]`, `["2026-07-19T12:00:00Z"]`} {
		var got api.Time
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("Unmarshal(%s): %v; want an error", in, got)
		}
	}
}

func TestTimeErrorDoesNotQuote(t *testing.T) {
	err := new(api.Time).UnmarshalText([]byte(strings.Repeat("secret", 10_000)))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("err = %.100v; want one without the text", err)
	}
}

func TestTimeWritten(t *testing.T) {
	at := api.Time{Time: time.Date(2026, 7, 19, 14, 0, 0, 123_999_999, time.FixedZone("", 7200))}
	const want = "2026-07-19T12:00:00.123Z"
	text, err := at.AppendText([]byte("> "))
	if err != nil || string(text) != "> "+want {
		t.Errorf("AppendText: %s, %v; want > %s", text, err, want)
	}
	quoted, err := json.Marshal(at)
	if err != nil || string(quoted) != `"`+want+`"` {
		t.Errorf("Marshal: %s, %v; want %q", quoted, err, want)
	}
}

// FuzzTime: what is read is written in one form, which reads as the same instant.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-07-19T12:00:00Z", "2026-07-19T12:00:00.123456789-23:59", "2026-07-19T1:00:00Z", "2026-07-19T12:00:00,5Z", "0001-01-01T00:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v, again api.Time
		if v.UnmarshalText([]byte(s)) != nil {
			return
		}
		text, err := v.MarshalText()
		if err != nil || len(text) != len("2026-07-19T12:00:00.000Z") {
			t.Fatalf("MarshalText of %q: %q, %v; want 24 bytes", s, text, err)
		}
		if err := again.UnmarshalText(text); err != nil || !again.Equal(v.Time) {
			t.Fatalf("%q is read as %v, written as %s and read as %v, %v", s, v, text, again, err)
		}
	})
}
