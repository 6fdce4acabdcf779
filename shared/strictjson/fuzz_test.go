package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
)

// FuzzDecode: what is accepted is what the standard library reads too, and comes
// back from its own encoding; what is refused is refused by a problem that can
// be sent.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"to":"bob","text":"hi"}`,
		`{"to":"bob","id":"a","conversation_id":"c","correlation_id":"r","created_at":"2026-07-19T12:00:00+02:00","data":{"a":[1.0,null]},"content_type":"a/b","metadata":{"k":"v"}}`,
		`{"to":"bob","data": {"z":9007199254740993, "e":1E+2 , "s":"\u0041\ud83d\ude00"} }`,
		`{"TO":"bob"}`, `{"to":"bob","to":"eve"}`, `{"to":null}`, `[]`, `{"data":[[[[]]]]}`, "{\"text\":\"\xff\"}", `{"text":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got api.SendRequest
		if err := strictjson.Decode(body, &got); err != nil {
			checkError(t, err)
			return
		}
		if !utf8.Valid(body) || !json.Valid(body) {
			t.Fatalf("Decode(%q) accepted what is no JSON in UTF-8", body)
		}
		var other api.SendRequest
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&other); err != nil {
			t.Fatalf("Decode(%q) accepted what encoding/json refuses: %v", body, err)
		}
		if len(other.Data) > 0 {
			var c bytes.Buffer
			if err := json.Compact(&c, other.Data); err != nil {
				t.Fatal(err)
			}
			other.Data = c.Bytes()
		}
		if diff := cmp.Diff(other, got); diff != "" {
			t.Fatalf("Decode(%q) (-encoding/json +ours):\n%s", body, diff)
		}
		checkRoundTrip(t, got)
	})
}

func checkRoundTrip(t *testing.T, r api.SendRequest) {
	t.Helper()
	if r.To == "" {
		return // a missing member, which is package valid's to refuse, would be an empty one
	}
	b, err := strictjson.Append(nil, r)
	if err != nil {
		t.Fatalf("Append(%+v): %v", r, err)
	}
	var again api.SendRequest
	if err := strictjson.Decode(b, &again); err != nil {
		t.Fatalf("Decode(Append(r) = %q): %v", b, err)
	}
	if len(r.Metadata) == 0 {
		r.Metadata = nil // an empty map is left out
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Fatalf("Decode(Append(r)) (-r +again):\n%s", diff)
	}
}

func checkError(t *testing.T, err error) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("err = %v; want an *api.Error", err)
	}
	switch e.Code {
	case api.InvalidJSON, api.UnknownField, api.RepeatedField, api.Invalid:
	default:
		t.Fatalf("code = %s; want one of decoding", e.Code)
	}
	if e.Field != "" && !strings.HasPrefix(e.Field, "/") || len(e.Field) > 512 || e.Detail == "" || len(e.Detail) > 400 {
		t.Fatalf("field = %q, detail = %q; want a pointer and a sentence, both short", e.Field, e.Detail)
	}
	if _, err := strictjson.Append(nil, e.Problem("r1")); err != nil {
		t.Fatalf("the problem of %v can't be sent: %v", e, err)
	}
}
