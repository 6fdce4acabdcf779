package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/strictjson"
)

// TestRefused holds what must not be read: one row a fault, with the code, the
// pointer and a part of the detail that says what would be right.
func TestRefused(t *testing.T) {
	nested := func(n int, open, end string) string {
		return `{"to":"bob","data":` + strings.Repeat(open, n) + "1" + strings.Repeat(end, n) + `}`
	}
	long := strings.Repeat("k", 2000)
	for _, tt := range []struct {
		name   string
		body   string
		code   api.Code
		field  string
		detail string
	}{
		{"empty", "", api.InvalidJSON, "", "send a JSON object"},
		{"white space only", " \r\n\t", api.InvalidJSON, "", "send a JSON object"},
		{"byte order mark", "\xef\xbb\xbf{}", api.InvalidJSON, "", "byte order mark"},
		{"UTF-16", "{\x00}\x00", api.InvalidJSON, "", "UTF-8"},
		{"gzip", "\x1f\x8b\x08\x00", api.InvalidJSON, "", "send one JSON object"},
		{"no JSON", "hello", api.InvalidJSON, "", "send one JSON object"},
		{"null", "null", api.Invalid, "", "send a JSON object"},
		{"array", "[]", api.Invalid, "", "an object is needed here, not an array"},
		{"string", `"x"`, api.Invalid, "", "an object is needed here, not a string"},
		{"number", "1", api.Invalid, "", "an object is needed here, not a number"},
		{"boolean", "true", api.Invalid, "", "an object is needed here, not a boolean"},

		{"second object", `{"to":"bob"}{"to":"eve"}`, api.InvalidJSON, "", "one JSON object"},
		{"word behind the object", `{"to":"bob"} x`, api.InvalidJSON, "", "one JSON object"},
		{"NUL behind the object", "{\"to\":\"bob\"}\x00", api.InvalidJSON, "", "one JSON object"},
		{"cut off in a string", `{"to":"bo`, api.InvalidJSON, "/to", "one whole JSON object"},
		{"cut off behind a member", `{"to":"bob"`, api.InvalidJSON, "", "one whole JSON object"},
		{"trailing comma", `{"to":"bob",}`, api.InvalidJSON, "", "RFC 8259"},
		{"comment", `{"to":"bob"/**/}`, api.InvalidJSON, "", "RFC 8259"},
		{"single quotes", `{'to':'bob'}`, api.InvalidJSON, "", "RFC 8259"},
		{"leading zero", `{"data":01}`, api.InvalidJSON, "", "RFC 8259"},
		{"NaN", `{"data":NaN}`, api.InvalidJSON, "/data", "RFC 8259"},
		{"raw control character", "{\"text\":\"a\nb\"}", api.InvalidJSON, "/text", "RFC 8259"},

		{"invalid UTF-8 in a text", "{\"to\":\"bob\",\"text\":\"a\xff\"}", api.InvalidJSON, "/text", "UTF-8"},
		{"invalid UTF-8 in data", "{\"data\":[\"a\xff\"]}", api.InvalidJSON, "/data/0", "UTF-8"},
		{"invalid UTF-8 in a key", "{\"metadata\":{\"a\xff\":\"\"}}", api.InvalidJSON, "/metadata", "UTF-8"},
		{"overlong UTF-8", "{\"text\":\"\xc0\xaf\"}", api.InvalidJSON, "/text", "UTF-8"},
		{"surrogate in UTF-8", "{\"text\":\"\xed\xa0\x80\"}", api.InvalidJSON, "/text", "UTF-8"},
		{"lone high surrogate", `{"text":"a\ud800b"}`, api.InvalidJSON, "/text", "surrogate"},
		{"lone low surrogate", `{"text":"a\udc00b"}`, api.InvalidJSON, "/text", "surrogate"},
		{"lone surrogate in data", `{"data":{"x":"\ud800"}}`, api.InvalidJSON, "/data/x", "surrogate"},
		{"lone surrogate in a key", `{"data":{"\udfff":1}}`, api.InvalidJSON, "/data", "surrogate"},
		{"two high surrogates", `{"text":"\ud83d\ud83d"}`, api.InvalidJSON, "/text", "surrogate"},

		{"unknown member", `{"to":"bob","zz":1}`, api.UnknownField, "/zz", "members, by their exact names, are: content_type, conversation_id"},
		{"upper-case member", `{"TO":"bob"}`, api.UnknownField, "/TO", "exact names"},
		{"Unicode-folded member", `{"metaſata":1,"ıd":"x"}`, api.UnknownField, "/metaſata", "exact names"},
		{"Kelvin sign for k", `{"\u212aind":"x"}`, api.UnknownField, "/\u212aind", "exact names"},
		{"dash for underscore", `{"content-type":"x"}`, api.UnknownField, "/content-type", "exact names"},
		{"path field as a member", `{"agent":"eve"}`, api.UnknownField, "/agent", "exact names"},
		{"path field by its Go name", `{"Agent":"eve"}`, api.UnknownField, "/Agent", "exact names"},
		{"the tag of a path field", `{"-":"eve"}`, api.UnknownField, "/-", "exact names"},
		{"empty name", `{"":1}`, api.UnknownField, "/", "exact names"},
		{"name with pointer syntax", `{"a/b~c":1}`, api.UnknownField, "/a~1b~0c", "exact names"},
		{"name too long to send back", `{"` + long + `":1}`, api.UnknownField, "", "exact names"},

		{"repeated member", `{"to":"bob","to":"eve"}`, api.RepeatedField, "/to", "give it once"},
		{"repeated with the same value", `{"to":"bob","to":"bob"}`, api.RepeatedField, "/to", "give it once"},
		{"repeated by escape", `{"to":"bob","\u0074o":"eve"}`, api.RepeatedField, "/to", "give it once"},
		{"repeated in data", `{"data":[{"a":1,"b":2,"\u0061":3}]}`, api.RepeatedField, "/data/0/a", "give it once"},
		{"repeated in metadata", `{"metadata":{"a":"1","a":"2"}}`, api.RepeatedField, "/metadata/a", "give it once"},
		{"repeated, too long to send back", `{"data":{"` + long + `":1,"` + long + `":2}}`, api.RepeatedField, "/data", "give it once"},

		{"null for an id", `{"to":null}`, api.Invalid, "/to", "leave the member out"},
		{"null for a pointer", `{"text":null}`, api.Invalid, "/text", "leave the member out"},
		{"null for a time", `{"created_at":null}`, api.Invalid, "/created_at", "leave the member out"},
		{"null for a map", `{"metadata":null}`, api.Invalid, "/metadata", "leave the member out"},
		{"null in a map", `{"metadata":{"a":null}}`, api.Invalid, "/metadata/a", "leave the member out"},

		{"number for an id", `{"to":5}`, api.Invalid, "/to", "a string is needed here, not a number"},
		{"array for a text", `{"text":["a"]}`, api.Invalid, "/text", "a string is needed here, not an array"},
		{"object for a string", `{"content_type":{}}`, api.Invalid, "/content_type", "a string is needed here, not an object"},
		{"boolean for a time", `{"created_at":true}`, api.Invalid, "/created_at", "a string is needed here, not a boolean"},
		{"array for a map", `{"metadata":[]}`, api.Invalid, "/metadata", "an object is needed here, not an array"},
		{"number in a map", `{"metadata":{"a":1}}`, api.Invalid, "/metadata/a", "a string is needed here, not a number"},

		{"bad agent id", `{"to":"Bob"}`, api.Invalid, "/to", "an agent id is 1-64 lower-case letters"},
		{"agent id with a line end", `{"to":"bob\n"}`, api.Invalid, "/to", "an agent id is 1-64"},
		{"agent id with a NUL", `{"to":"bob\u0000"}`, api.Invalid, "/to", "an agent id is 1-64"},
		{"empty agent id", `{"to":""}`, api.Invalid, "/to", "an agent id is 1-64"},
		{"bad message id", `{"id":"a b"}`, api.Invalid, "/id", "a message id is 1-128"},
		{"bad conversation id", `{"conversation_id":"\u0007"}`, api.Invalid, "/conversation_id", "a conversation id is 1-256"},
		{"bad time", `{"created_at":"yesterday"}`, api.Invalid, "/created_at", "RFC 3339"},

		{"64 arrays in the body", nested(64, "[", "]"), api.InvalidJSON, "/data", "64 levels"},
		{"64 objects in the body", nested(64, `{"a":`, "}"), api.InvalidJSON, "/data", "64 levels"},
		{"10,001 arrays", nested(10_001, "[", "]"), api.InvalidJSON, "/data", "64 levels"},
		{"100,000 objects without an end", `{"data":` + strings.Repeat(`{"a":`, 100_000), api.InvalidJSON, "/data", "64 levels"},
		{"deep where no value may be deep", `{"text":` + strings.Repeat("[", 100_000), api.InvalidJSON, "/text", "64 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := strictjson.Decode([]byte(tt.body), new(api.SendRequest))
			var got *api.Error
			if !errors.As(err, &got) {
				t.Fatalf("Decode: err = %v; want an *api.Error", err)
			}
			if got.Code != tt.code || got.Field != tt.field || !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("Decode: %s at %q: %q\nwant    %s at %q: ...%q...", got.Code, got.Field, got.Detail, tt.code, tt.field, tt.detail)
			}
			if len(got.Detail) > 400 || got.Unwrap() != nil {
				t.Errorf("Decode: a detail of %d bytes and the cause %v; want a short one and none, as either may quote the body", len(got.Detail), got.Unwrap())
			}
		})
	}
}

// TestRefusedInteger covers what no request of today has: a number and a list.
func TestRefusedInteger(t *testing.T) {
	type shape struct {
		N int      `json:"n"`
		U uint64   `json:"u"`
		L []string `json:"l"`
		B bool     `json:"b"`

		O api.OrNull[ident.Owner]  `json:"o"`
		P api.OrNull[api.Position] `json:"p"`
	}
	for _, tt := range []struct{ name, body, field, detail string }{
		{"fraction", `{"n":1.5}`, "/n", "an integer is needed here"},
		{"fraction of zeros", `{"n":1.0}`, "/n", "an integer is needed here"},
		{"exponent", `{"n":1e3}`, "/n", "an integer is needed here"},
		{"too large", `{"n":9223372036854775808}`, "/n", "in range"},
		{"negative", `{"u":-1}`, "/u", "in range"},
		{"number in a string", `{"n":"1"}`, "/n", "an integer is needed here, not a string"},
		{"number in a list", `{"l":["a",1]}`, "/l/1", "a string is needed here, not a number"},
		{"null in a list", `{"l":["a",null]}`, "/l/1", "leave the member out"},
		{"string for a list", `{"l":"a"}`, "/l", "an array is needed here, not a string"},
		{"number for a boolean", `{"b":1}`, "/b", "true or false is needed here, not a number"},
		{"number where null may stand", `{"p":7}`, "/p", "a string is needed here, not a number"},
		{"object where null may stand", `{"o":{}}`, "/o", "a string is needed here, not an object"},
		{"empty where null may stand", `{"o":""}`, "/o", "an owner"},
		{"malformed where null may stand", `{"p":"007"}`, "/p", "decimal digits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := api.AsError(strictjson.Decode([]byte(tt.body), new(shape)))
			if got.Code != api.Invalid || got.Field != tt.field || !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("Decode(%s): %s at %q: %q; want invalid at %q: ...%q...", tt.body, got.Code, got.Field, got.Detail, tt.field, tt.detail)
			}
		})
	}
}

// TestDataKept holds what is read to what was sent: number tokens, escapes and
// key order of data, the code points of text.
func TestDataKept(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"numbers", `{"z":9007199254740993,"a":1.0,"e":1E+2,"n":-0,"big":123456789012345678901234567890,"f":0.1000}`, ""},
		{"null", `null`, ""},
		{"null inside", `{"a":null,"b":[null]}`, ""},
		{"empty string", `""`, ""},
		{"empty object", `{}`, ""},
		{"false", `false`, ""},
		{"escapes", `"\u0041\/\"\\\ud83d\ude00<&>"`, ""},
		{"line separators", "\"\u2028\u2029\"", ""},
		{"case variants are different keys", `{"a":1,"A":2}`, ""},
		{"63 levels", strings.Repeat("[", 63) + strings.Repeat("]", 63), ""},
		{"white space", " {\t\"b\" :\r\n[ 1 , 2.50 ] , \"a b\":\" c \\\" \" } ", `{"b":[1,2.50],"a b":" c \" "}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			var r api.SendRequest
			if err := strictjson.Decode([]byte(`{"to":"bob","data":`+tt.in+`}`), &r); err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if string(r.Data) != want {
				t.Errorf("Decode: data is %s; want %s", r.Data, want)
			}
			// The stored envelope is one level deeper than the request was.
			b, err := strictjson.Append(nil, api.Envelope{Message: &api.Content{Data: r.Data}})
			if err != nil {
				t.Fatalf("Append: %v", err)
			}
			if !strings.Contains(string(b), `"message":{"data":`+want+`}`) {
				t.Errorf("Append: %s; want data %s in it", b, want)
			}
			var e struct {
				Message api.Content `json:"message"`
			}
			if err := json.Unmarshal(b, &e); err != nil || string(e.Message.Data) != want {
				t.Errorf("read back: %s, %v; want %s", e.Message.Data, err, want)
			}
		})
	}
}

// TestDecodeKeepsNothing: handlers read bodies into a buffer that is used again.
func TestDecodeKeepsNothing(t *testing.T) {
	body := []byte(`{"to":"bob","text":"hello","data":[1],"metadata":{"key":"value"}}`)
	var r api.SendRequest
	if err := strictjson.Decode(body, &r); err != nil {
		t.Fatal(err)
	}
	clear(body)
	text := "hello"
	want := api.SendRequest{Heading: api.Heading{To: "bob", Metadata: map[string]string{"key": "value"}}, Text: &text, Data: json.RawMessage("[1]")}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("after the body was overwritten (-want +got):\n%s", diff)
	}
}

// TestHostileBodies: each body is decided in linear time, some 10 ms. The bound
// is for a busy machine; a quadratic step over 768 KiB would take minutes.
func TestHostileBodies(t *testing.T) {
	const size, bound = api.MaxBodyBytes - 100, 5 * time.Second
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (size-len(before)-len(after))/len(unit)) + after
	}
	keys := func(before, value, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.Repeat("k", i%3) + string(rune(0x4e00+i%20_000)) + string(rune(0x4e00+i/20_000)) + `":` + value)
		}
		return b.String() + after
	}
	for _, tt := range []struct{ name, body string }{
		{"digits", fill(`{"data":`, "9", "}")},
		{"digits for an id", fill(`{"to":`, "9", "}")},
		{"digits of a fraction of a second", fill(`{"created_at":"2026-07-19T12:00:00.`, "9", `Z"}`)},
		{"keys of data", keys(`{"data":{`, "1", "}}")},
		{"keys of metadata", keys(`{"metadata":{`, `""`, "}}")},
		{"unknown keys", keys(`{`, "1", "}")},
		{"long agent id", fill(`{"to":"`, "a", `"}`)},
		{"backslashes", fill(`{"data":"`, `\\`, `"}`)},
		{"escaped quotes", fill(`{"data":"`, `\"`, `"}`)},
		{"surrogate pairs", fill(`{"text":"`, `\ud83d\ude00`, `"}`)},
		{"white space", fill(`{"data":[1`, " ", "]}")},
		{"white space between elements", fill(`{"data":[1`, " ,\n1", "]}")},
		{"open arrays", fill(`{"data":`, "[", "")},
		{"open objects with long keys", fill(`{"data":`, `{"`+strings.Repeat("k", 70)+`":`, "")},
		{"nested 63 times with long keys, then bad", `{"data":` + strings.Repeat(`{"`+strings.Repeat("k", 12_000)+`":`, 63) + "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			err := strictjson.Decode([]byte(tt.body), new(api.SendRequest))
			if took := time.Since(begun); took > bound {
				t.Errorf("Decode of %d bytes took %v (err = %.100v); want under %v", len(tt.body), took, err, bound)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	empty, text := "", "a<b>&c\u2028d\u2029e"
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"no HTML escaping", api.Content{Text: &text}, `{"text":"` + text + `"}`},
		{"empty text is kept", api.Content{Text: &empty}, `{"text":""}`},
		{"data that is null is kept", api.Content{Data: json.RawMessage("null")}, `{"data":null}`},
		{"data that is empty is kept", api.Content{Data: json.RawMessage("{}")}, `{"data":{}}`},
		{"raw tokens are kept", api.Content{Data: json.RawMessage(`{"b":1.0,"a":"\u0041\/"}`)}, `{"data":{"b":1.0,"a":"\u0041\/"}}`},
		{"raw keys are not judged", api.Content{Data: json.RawMessage(`{"b":1,"b":2}`)}, `{"data":{"b":1,"b":2}}`},
		{"no raw value is null", api.SendResponse{}, `{"envelope":null,"seq_num":0,"next_cursor":0,"timestamp":"0001-01-01T00:00:00.000Z"}`},
		{"maps are sorted", map[string]string{"b": "", "a": "", "A": "", "é": ""}, `{"A":"","a":"","b":"","é":""}`},
		{"no list is empty", api.InboxPage{}, `{"deliveries":[],"next_cursor":0,"tail":0}`},
		{"no map is empty", api.AgentInfo{Agent: "bob"}, `{"agent":"bob","display_name":"","endpoint":"","capabilities":[],"public_key":"","labels":{},"protocol_versions":[],` +
			`"created_at":"0001-01-01T00:00:00.000Z","updated_at":"0001-01-01T00:00:00.000Z"}`},
		{"null pointer", api.ListAgentsResponse{}, `{"agents":[],"next_cursor":null}`},
		{"false is left out", api.Delivery{Envelope: json.RawMessage("{}")}, `{"seq_num":0,"timestamp":"0001-01-01T00:00:00.000Z","envelope":{}}`},
		{"bytes are base64", api.Delivery{Unreadable: true, BodyBase64: []byte{0xff}}, `{"seq_num":0,"timestamp":"0001-01-01T00:00:00.000Z","unreadable":true,"body_base64":"/w=="}`},
		{"embedded struct", api.RegisterResponse{Made: api.Made{Created: true}}, `{"agent":"","display_name":"","endpoint":"","capabilities":[],"public_key":"","labels":{},"protocol_versions":[],` +
			`"created_at":"0001-01-01T00:00:00.000Z","updated_at":"0001-01-01T00:00:00.000Z"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strictjson.Append([]byte("> "), tt.v)
			if err != nil || string(got) != "> "+tt.want {
				t.Errorf("Append: %s, %v\nwant    > %s", got, err, tt.want)
			}
		})
	}
}

func TestAppendRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    any
	}{
		{"string that is not UTF-8", map[string]string{"a": "\xff"}},
		{"raw value that is no JSON", api.Content{Data: json.RawMessage("{")}},
		{"raw value that is two", api.Content{Data: json.RawMessage("1 2")}},
		{"raw value that is not UTF-8", api.Content{Data: json.RawMessage("\"\xff\"")}},
		{"no JSON type", make(chan int)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strictjson.Append([]byte("> "), tt.v)
			if err == nil || string(got) != "> " {
				t.Errorf("Append: %q, %v; want the bytes as they were, and an error", got, err)
			}
		})
	}
}
