package valid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/strictjson"
	"agentchat/shared/valid"
)

// wantBlame checks that err blames exactly where, a pointer or the name of a
// parameter, and says what would be right; where "ok" wants no error.
func wantBlame(t *testing.T, call string, err error, where, detail string) {
	t.Helper()
	if where == "ok" {
		if err != nil {
			t.Errorf("%s: %v; want nil", call, err)
		}
		return
	}
	var e *api.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: err = %v; want an *api.Error", call, err)
		return
	}
	if e.Code != api.Invalid || e.Field+e.Parameter != where || !strings.Contains(e.Detail, detail) {
		t.Errorf("%s: %s at field %q parameter %q: %q\nwant invalid at %q: ...%q...", call, e.Code, e.Field, e.Parameter, e.Detail, where, detail)
	}
	if len(e.Detail) > 600 {
		t.Errorf("%s: a detail of %d bytes; want it short", call, len(e.Detail))
	}
}

func text(n int, unit string) *string { return new(strings.Repeat(unit, n)) }

// entries returns n entries whose keys have keyBytes and whose values have valueBytes.
func entries(n, keyBytes, valueBytes int) map[string]string {
	m := make(map[string]string, n)
	for i := range n {
		m[fmt.Sprintf("%0*d", keyBytes, i)] = strings.Repeat("v", valueBytes)
	}
	return m
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}

func TestSend(t *testing.T) {
	for _, tt := range []struct {
		name   string
		where  string // what is to blame, or ok
		detail string
		req    api.SendRequest
	}{
		{"text", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new("hi")}},
		{"data", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Data: json.RawMessage(`{}`)}},
		{"text and data", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new("hi"), Data: json.RawMessage(`{}`)}},
		{"empty text", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new("")}},
		{"data that is null", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Data: json.RawMessage(`null`)}},
		{"neither", "/text", "at least one", api.SendRequest{Heading: api.Heading{To: "bob"}}},
		{"neither, but a content type", "/text", "at least one", api.SendRequest{Heading: api.Heading{To: "bob"}, ContentType: "a/b"}},
		{"no recipient", "/to", "recipient", api.SendRequest{Text: new("hi")}},
		{"nothing", "/to", "recipient", api.SendRequest{}},

		{"key without id", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob", IdempotencyKey: "a"}, Text: new("")}},
		{"id without key", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob", ID: "a"}, Text: new("")}},
		{"key and id alike", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob", ID: "a", IdempotencyKey: "a"}, Text: new("")}},
		{"key and id different", "Idempotency-Key", "the same in both", api.SendRequest{Heading: api.Heading{To: "bob", ID: "a", IdempotencyKey: "A"}, Text: new("")}},

		{"text of 512 KiB", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: text(512<<10, "x")}},
		{"text of one more", "/text", "524288", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: text(512<<10+1, "x")}},
		{"text of 131,072 times 4 bytes", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: text(131_072, "\U0001F600")}},
		{"text of 131,073 times 4 bytes", "/text", "524288", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: text(131_073, "\U0001F600")}},
		{"text of 174,763 times 3 bytes", "/text", "524288", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: text(174_763, "\u5927")}},
		{"data of 512 KiB", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Data: json.RawMessage(strings.Repeat("9", 512<<10))}},
		{"data of one more", "/data", "524288", api.SendRequest{Heading: api.Heading{To: "bob"}, Data: json.RawMessage(strings.Repeat("9", 512<<10+1))}},

		{"content type", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new(""), ContentType: "application/vnd.example.handoff+json"}},
		{"bad content type", "/content_type", "type/subtype", api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new(""), ContentType: "text"}},
		{"metadata", "ok", "", api.SendRequest{Heading: api.Heading{To: "bob", Metadata: map[string]string{"trace_id": "abc123"}}, Text: new("")}},
		{"bad metadata", "/metadata", "keys have 1 to 128", api.SendRequest{Heading: api.Heading{To: "bob", Metadata: map[string]string{"": ""}}, Text: new("")}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "Send", valid.Send(&tt.req), tt.where, tt.detail) })
	}
}

// TestSendDataIsCompacted: white space between tokens does not count.
func TestSendDataIsCompacted(t *testing.T) {
	var r api.SendRequest
	body := `{"to":"bob","data":[` + strings.Repeat(" ", 200<<10) + `"` + strings.Repeat("x", 512<<10-4) + `"]}`
	if err := strictjson.Decode([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	if err := valid.Send(&r); err != nil || len(r.Data) != api.MaxDataBytes {
		t.Errorf("Send with data of %d bytes compacted: %v; want nil for exactly 512 KiB", len(r.Data), err)
	}
}

func TestRegister(t *testing.T) {
	escaped := entries(8, 1, 0) // every byte of these values becomes six
	for k := range escaped {
		escaped[k] = strings.Repeat("\x01", 2<<10-1)
	}
	var sixteen []string
	for i := range 16 {
		sixteen = append(sixteen, fmt.Sprintf("1.%d.0", i))
	}
	for _, tt := range []struct {
		name   string
		where  string
		detail string
		p      api.Profile
	}{
		{"nothing", "ok", "", api.Profile{}},
		{"everything", "ok", "", api.Profile{
			DisplayName: "Carol", Endpoint: "https://agents.example.net", Capabilities: []string{"research"},
			PublicKey: "did:key:z6Mk", Labels: map[string]string{"team": "discovery"}, ProtocolVersions: []string{"1.0.0"},
		}},

		{"display name of 256 bytes", "ok", "", api.Profile{DisplayName: strings.Repeat("é", 128)}},
		{"display name of 257 bytes", "/display_name", "0 to 256", api.Profile{DisplayName: strings.Repeat("é", 128) + "x"}},
		{"display name with an escape", "/display_name", "control", api.Profile{DisplayName: "a\x1b[31m"}},
		{"display name with a C1 control", "/display_name", "control", api.Profile{DisplayName: "a\u009b31m"}},
		{"display name of joined emoji", "ok", "", api.Profile{DisplayName: "\U0001F469\u200d\U0001F680"}},

		{"endpoint of http", "/endpoint", "https", api.Profile{Endpoint: "http://agents.example.net"}},

		{"64 capabilities", "ok", "", api.Profile{Capabilities: slices.Repeat([]string{"c"}, 64)}},
		{"65 capabilities", "/capabilities", "at most 64", api.Profile{Capabilities: slices.Repeat([]string{"c"}, 65)}},
		{"capability of 128 bytes", "ok", "", api.Profile{Capabilities: []string{strings.Repeat("é", 64)}}},
		{"capability of 129 bytes", "/capabilities/1", "1 to 128", api.Profile{Capabilities: []string{"a", strings.Repeat("é", 64) + "x"}}},
		{"empty capability", "/capabilities/0", "1 to 128", api.Profile{Capabilities: []string{""}}},
		{"capability with a line end", "/capabilities/0", "control", api.Profile{Capabilities: []string{"a\n"}}},

		{"public key of 4 KiB in lines", "ok", "", api.Profile{PublicKey: strings.Repeat("line\nx ", 585) + "x"}},
		{"public key of one more", "/public_key", "at most 4096", api.Profile{PublicKey: strings.Repeat("k", 4<<10+1)}},

		{"bad label", "/labels", "control character", api.Profile{Labels: map[string]string{"a\n": ""}}},

		{"16 versions", "ok", "", api.Profile{ProtocolVersions: sixteen}},
		{"17 versions", "/protocol_versions", "at most 16", api.Profile{ProtocolVersions: append(sixteen[:16:16], "2.0.0")}},
		{"a version twice", "/protocol_versions/2", "twice", api.Profile{ProtocolVersions: []string{"1.0.0", "1.1.0", "1.0.0"}}},
		{"no versions", "ok", "", api.Profile{ProtocolVersions: []string{}}},

		{"parts in their bounds that escapes make too large", "", "at most 65536", api.Profile{Labels: escaped}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantBlame(t, "Register", valid.Register(&api.RegisterRequest{Agent: "carol", Profile: tt.p}), tt.where, tt.detail)
		})
	}
}

// TestRegisterProfileSize holds the bound on the whole at its last byte and one over.
func TestRegisterProfileSize(t *testing.T) {
	labels := entries(6, 1, 0)
	p := api.Profile{Labels: labels, DisplayName: "x"}
	size := func() int {
		b, err := strictjson.Append(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	for k := range labels {
		labels[k] = strings.Repeat("\x01", min(2<<10, (api.MaxProfileBytes-size())/6))
	}
	p.DisplayName = strings.Repeat("x", 1+api.MaxProfileBytes-size())
	if n := size(); n != api.MaxProfileBytes || len(p.DisplayName) > api.MaxDisplayName-1 {
		t.Fatalf("the profile has %d bytes, the name %d; want 65536 and at most 255", n, len(p.DisplayName))
	}
	wantBlame(t, "Register at the bound", valid.Register(&api.RegisterRequest{Profile: p}), "ok", "")
	p.DisplayName += "x"
	wantBlame(t, "Register one over", valid.Register(&api.RegisterRequest{Profile: p}), "", "65537 bytes as JSON")
}

// TestPairs holds for metadata and labels alike.
func TestPairs(t *testing.T) {
	full := entries(4, 1, 4<<10-1) // 16 KiB
	for _, tt := range []struct {
		name   string
		where  string // within the map, or ok
		detail string
		m      map[string]string
	}{
		{"none", "ok", "", nil},
		{"empty", "ok", "", map[string]string{}},
		{"64 entries", "ok", "", entries(64, 2, 1)},
		{"65 entries", "", "at most 64", entries(65, 2, 1)},
		{"key of 128 bytes", "ok", "", map[string]string{strings.Repeat("é", 64): ""}},
		{"key of 129 bytes", "", "1 to 128", map[string]string{strings.Repeat("é", 64) + "k": ""}},
		{"empty key", "", "1 to 128", map[string]string{"": "v"}},
		{"key with a tab", "", "control character", map[string]string{"a\tb": "v"}},
		{"key with a NUL", "", "control character", map[string]string{"a\x00": "v"}},
		{"key with DEL", "", "control character", map[string]string{"a\x7f": "v"}},
		{"key with a C1 control", "", "control character", map[string]string{"a\u0085": "v"}},
		{"key with spaces, a slash and a tilde", "ok", "", map[string]string{" a/b~c ": "v"}},
		{"value with control characters", "ok", "", map[string]string{"k": "a\r\nb\x00"}},
		{"empty value", "ok", "", map[string]string{"k": ""}},
		{"value of 4 KiB", "ok", "", map[string]string{"k": strings.Repeat("é", 2<<10)}},
		{"value of one more", "/k", "at most 4096", map[string]string{"k": strings.Repeat("é", 2<<10) + "x"}},
		{"pointer to a value", "/a~1b~0c", "at most 4096", map[string]string{"a/b~c": strings.Repeat("x", 4<<10+1)}},
		{"the first of two bad values", "/a", "at most 4096", map[string]string{"b": strings.Repeat("x", 5<<10), "a": strings.Repeat("x", 5<<10)}},
		{"16 KiB in all", "ok", "", full},
		{"16 KiB and a key", "", "at most 16384", with(full, "k", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := func(where string) string {
				if tt.where == "ok" {
					return "ok"
				}
				return where + tt.where
			}
			wantBlame(t, "Send", valid.Send(&api.SendRequest{Heading: api.Heading{To: "bob", Metadata: tt.m}, Text: new("")}), in("/metadata"), tt.detail)
			wantBlame(t, "Register", valid.Register(&api.RegisterRequest{Profile: api.Profile{Labels: tt.m}}), in("/labels"), tt.detail)
		})
	}
}

func TestContentType(t *testing.T) {
	long := "text/plain; a=" + strings.Repeat("x", api.MaxContentType-len("text/plain; a="))
	for _, tt := range []struct {
		name  string
		value string
		ok    bool
	}{
		{"none", "", true},
		{"plain", "text/plain", true},
		{"parameter", "text/markdown; charset=utf-8", true},
		{"quoted parameter", `multipart/mixed; boundary="a b;c"`, true},
		{"capitals", "Application/JSON", true},
		{"suffix", "application/vnd.example.handoff+json;v=2", true},
		{"255 bytes", long, true},
		{"256 bytes", long + "x", false},
		{"type alone", "text", false},
		{"no subtype", "text/", false},
		{"no type", "/plain", false},
		{"two slashes", "a/b/c", false},
		{"range", "text/*", false},
		{"any", "*/*", false},
		{"space in the type", "text /plain", false},
		{"space in front", " text/plain", false},
		{"space behind", "text/plain ", false},
		{"list", "text/plain, text/html", false},
		{"parameter without a value", "text/plain; charset", false},
		{"parameter twice", "text/plain; a=1; a=2", false},
		{"quote that does not end", `text/plain; a="b`, false},
		{"line end", "text/plain\n", false},
		{"header injection", "text/plain\r\nX: y", false},
		{"NUL", "text/pl\x00ain", false},
		{"control in a quoted parameter", "text/plain; a=\"\x01\"", false},
		{"DEL in a quoted parameter", "text/plain; a=\"\x7f\"", false},
		{"no ASCII", "text/plän", false},
		{"no ASCII in a quoted parameter", `text/plain; a="é"`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			where := "/content_type"
			if tt.ok {
				where = "ok"
			}
			wantBlame(t, "Send", valid.Send(&api.SendRequest{Heading: api.Heading{To: "bob"}, Text: new(""), ContentType: tt.value}), where, "a media type")
		})
	}
}

func TestEndpoint(t *testing.T) {
	long := "https://h/" + strings.Repeat("x", api.MaxEndpoint-len("https://h/"))
	for _, tt := range []struct {
		name  string
		value string
		ok    bool
	}{
		{"none", "", true},
		{"host", "https://agents.example.net", true},
		{"path, query and fragment", "https://h/a%20b/%E2%82%AC?q=1&r=%0A#f", true},
		{"port", "https://h:8443/", true},
		{"last port", "https://h:65535/", true},
		{"IPv4", "https://192.0.2.1/", true},
		{"IPv6", "https://[2001:db8::1]:443/", true},
		{"scheme in capitals", "HTTPS://h/", true},
		{"2 KiB", long, true},
		{"2 KiB and one", long + "x", false},
		{"10 KB", "https://h/" + strings.Repeat("x", 10_000), false},
		{"http", "http://h/", false},
		{"metadata service", "http://169.254.169.254/latest/", false},
		{"file", "file:///etc/passwd", false},
		{"javascript", "javascript:alert(1)", false},
		{"data", "data:text/html,x", false},
		{"no scheme", "//h", false},
		{"host alone", "h", false},
		{"path", "/a", false},
		{"no host", "https:///a", false},
		{"port without a host", "https://:443/", false},
		{"no slashes", "https:h", false},
		{"user and password", "https://u:p@h/", false},
		{"user", "https://u@h/", false},
		{"empty user", "https://@h/", false},
		{"backslash for a host", `https://good\@evil/`, false},
		{"backslashes", `https:\\h\`, false},
		{"line end", "https://h\n", false},
		{"line end in the path", "https://h/\r\nX: y", false},
		{"tab", "https://h\t/", false},
		{"NUL", "https://h/\x00", false},
		{"DEL", "https://h/\x7f", false},
		{"escape sequence", "https://h/\x1b[31m", false},
		{"space", "https://h/a b", false},
		{"space in front", " https://h/", false},
		{"quote", `https://h/"`, false},
		{"angle brackets", "https://h/<script>", false},
		{"host that is not ASCII", "https://аlice.example/", false},
		{"host that decodes to no ASCII", "https://%D0%B0lice.example/", false},
		{"host that decodes to a control", "https://h%0a/", false},
		{"path that is not ASCII", "https://h/é", false},
		{"path that is badly encoded", "https://h/%zz", false},
		{"port too large", "https://h:65536/", false},
		{"port that is no number", "https://h:x/", false},
		{"IPv6 that does not end", "https://[::1/", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			where := "/endpoint"
			if tt.ok {
				where = "ok"
			}
			wantBlame(t, "Register", valid.Register(&api.RegisterRequest{Profile: api.Profile{Endpoint: tt.value}}), where, "")
		})
	}
}

func TestProtocolVersion(t *testing.T) {
	for _, tt := range []struct {
		value string
		ok    bool
	}{
		{"0.0.0", true},
		{"1.0.0", true},
		{"1.10.0", true},
		{"999999999.0.0", true},
		{"1000000000.0.0", false},
		{"v1.1.0", false},
		{"1.1", false},
		{"1", false},
		{"", false},
		{"1.1.0.0", false},
		{"1.1.0-rc1", false},
		{"1.1.0+b", false},
		{"01.1.0", false},
		{"1.00.0", false},
		{"1..0", false},
		{".1.0", false},
		{"1.0.", false},
		{" 1.0.0", false},
		{"1.0.0\n", false},
		{"-1.0.0", false},
		{"+1.0.0", false},
		{"1e1.0.0", false},
		{"1.x.0", false},
		{"1.\u0661.0", false},
	} {
		t.Run(fmt.Sprintf("%q", tt.value), func(t *testing.T) {
			where := "/protocol_versions/0"
			if tt.ok {
				where = "ok"
			}
			wantBlame(t, "Register", valid.Register(&api.RegisterRequest{Profile: api.Profile{ProtocolVersions: []string{tt.value}}}), where, "MAJOR.MINOR.PATCH")
		})
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   *int
		want int // 0: refused
	}{
		{"none", nil, 100},
		{"least", new(1), 1},
		{"most", new(1000), 1000},
		{"zero", new(0), 0},
		{"negative", new(-1), 0},
		{"over", new(1001), 0},
		{"greatest integer", new(1<<63 - 1), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := valid.Limit(tt.in)
			if tt.want == 0 {
				wantBlame(t, "Limit", err, "limit", "1 to 1000")
				return
			}
			if got != tt.want || err != nil {
				t.Errorf("Limit: %d, %v; want %d", got, err, tt.want)
			}
		})
	}
}

func TestInbox(t *testing.T) {
	for _, tt := range []struct {
		name, where, detail string
		req                 api.InboxRequest
	}{
		{"nothing", "ok", "", api.InboxRequest{}},
		{"limit over", "limit", "1 to 1000", api.InboxRequest{Limit: new(1001)}},
		{"no wait", "ok", "", api.InboxRequest{Wait: new(0)}},
		{"longest wait", "ok", "", api.InboxRequest{Wait: new(20)}},
		{"wait over", "wait", "0 to 20", api.InboxRequest{Wait: new(21)}},
		{"negative wait", "wait", "0 to 20", api.InboxRequest{Wait: new(-1)}},
		{"messages", "ok", "", api.InboxRequest{Kind: api.KindMessage}},
		{"shares", "ok", "", api.InboxRequest{Kind: api.KindContactShare}},
		{"receipts", "ok", "", api.InboxRequest{Kind: api.KindReceipt}},
		{"unknown kind", "kind", "one of message, contact.share, receipt", api.InboxRequest{Kind: "Message"}},
		{"last cursor", "ok", "", api.InboxRequest{Cursor: new(uint64(1<<64 - 1)), From: ident.Agent("alice")}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "Inbox", valid.Inbox(&tt.req), tt.where, tt.detail) })
	}
}

func TestMonitor(t *testing.T) {
	for _, tt := range []struct {
		name, where, detail string
		req                 api.MonitorRequest
	}{
		{"nothing", "ok", "", api.MonitorRequest{}},
		{"limit", "ok", "", api.MonitorRequest{Limit: new(1000)}},
		{"limit over", "limit", "1 to 1000", api.MonitorRequest{Limit: new(1001)}},
		{"no limit", "limit", "1 to 1000", api.MonitorRequest{Limit: new(0)}},
		{"most agents", "ok", "", api.MonitorRequest{Agents: slices.Repeat([]ident.Agent{"bob"}, 1000)}},
		{"an agent too many", "agent", "1000 at most", api.MonitorRequest{Agents: slices.Repeat([]ident.Agent{"bob"}, 1001)}},
		{"receipts", "ok", "", api.MonitorRequest{Kind: api.KindReceipt}},
		{"unknown kind", "kind", "one of message, contact.share, receipt", api.MonitorRequest{Kind: "receipts"}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "Monitor", valid.Monitor(&tt.req), tt.where, tt.detail) })
	}
}
