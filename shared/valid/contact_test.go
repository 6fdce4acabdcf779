package valid_test

import (
	"slices"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/valid"
)

// TestPutContact holds what is particular to cards; what they have in common
// with profiles, TestRegister does.
func TestPutContact(t *testing.T) {
	escaped := entries(8, 1, 0) // every byte of these values becomes six
	for k := range escaped {
		escaped[k] = strings.Repeat("\x01", 2<<10-1)
	}
	for _, tt := range []struct {
		name   string
		where  string
		detail string
		req    api.PutContactRequest
	}{
		{"nothing", "ok", "", api.PutContactRequest{Contact: "carol"}},
		{"the same id", "ok", "", api.PutContactRequest{Contact: "carol", ID: "carol"}},
		{"another id", "/id", "path", api.PutContactRequest{Contact: "carol", ID: "mallory"}},
		{"everything", "ok", "", api.PutContactRequest{
			Contact: "carol", DisplayName: "Carol", Endpoint: "http://agents.example.net", Capabilities: []string{"research"},
			PublicKey: "did:key:z6Mk", Labels: map[string]string{"team": "discovery"},
		}},
		{"endpoint within", "ok", "", api.PutContactRequest{Contact: "carol", Endpoint: "http://169.254.169.254/latest/"}}, // nobody here connects to it
		{"endpoint of a file", "/endpoint", "http or https", api.PutContactRequest{Contact: "carol", Endpoint: "file:///etc/passwd"}},
		{"endpoint of a script", "/endpoint", "http or https", api.PutContactRequest{Contact: "carol", Endpoint: "javascript:alert(1)"}},
		{"endpoint with a password", "/endpoint", "no password", api.PutContactRequest{Contact: "carol", Endpoint: "https://u:p@h/"}},
		{"endpoint without a scheme", "/endpoint", "absolute", api.PutContactRequest{Contact: "carol", Endpoint: "//h"}},
		{"endpoint with a line end", "/endpoint", "RFC 3986", api.PutContactRequest{Contact: "carol", Endpoint: "https://h\n"}},
		{"endpoint of 10 KB", "/endpoint", "at most 2048", api.PutContactRequest{Contact: "carol", Endpoint: "https://h/" + strings.Repeat("x", 10_000)}},
		{"display name with an escape", "/display_name", "control", api.PutContactRequest{Contact: "carol", DisplayName: "a\x1b[31m"}},
		{"65 capabilities", "/capabilities", "at most 64", api.PutContactRequest{Contact: "carol", Capabilities: slices.Repeat([]string{"c"}, 65)}},
		{"public key of one too many", "/public_key", "at most 4096", api.PutContactRequest{Contact: "carol", PublicKey: strings.Repeat("k", 4<<10+1)}},
		{"bad label", "/labels", "control character", api.PutContactRequest{Contact: "carol", Labels: map[string]string{"a\n": ""}}},
		{"parts in their bounds that escapes make too large", "", "a card has at most 65536", api.PutContactRequest{Contact: "carol", Labels: escaped}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "PutContact", valid.PutContact(&tt.req), tt.where, tt.detail) })
	}
	wantBlame(t, "Card of nobody", valid.Card(&api.Card{DisplayName: "Carol"}), "/id", "nobody")
}

func TestShareContact(t *testing.T) {
	for _, tt := range []struct {
		name   string
		where  string
		detail string
		req    api.ShareContactRequest
	}{
		{"a share", "ok", "", api.ShareContactRequest{Heading: api.Heading{To: "bob"}, ContactID: "carol"}},
		{"no recipient", "/to", "recipient", api.ShareContactRequest{ContactID: "carol"}},
		{"no contact", "/contact_id", "missing", api.ShareContactRequest{Heading: api.Heading{To: "bob"}}},
		{"key and id alike", "ok", "", api.ShareContactRequest{Heading: api.Heading{To: "bob", ID: "a", IdempotencyKey: "a"}, ContactID: "carol"}},
		{"key and id different", "Idempotency-Key", "the same in both", api.ShareContactRequest{Heading: api.Heading{To: "bob", ID: "a", IdempotencyKey: "A"}, ContactID: "carol"}},
		{"bad metadata", "/metadata", "keys have 1 to 128", api.ShareContactRequest{Heading: api.Heading{To: "bob", Metadata: map[string]string{"": ""}}, ContactID: "carol"}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "ShareContact", valid.ShareContact(&tt.req), tt.where, tt.detail) })
	}
}

func TestSendReceipt(t *testing.T) {
	to := api.Heading{To: "alice"}
	for _, tt := range []struct {
		name   string
		where  string
		detail string
		req    api.SendReceiptRequest
	}{
		{"delivered", "ok", "", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "delivered"}},
		{"processed", "ok", "", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "processed"}},
		{"read", "ok", "", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "read"}},
		{"rejected", "ok", "", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "rejected"}},
		{"accepted", "/status", "one of", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "accepted"}},
		{"capitals", "/status", "one of", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "Processed"}},
		{"no status", "/status", "one of", api.SendReceiptRequest{Heading: to, MessageID: "m-1"}},
		{"no message", "/message_id", "missing", api.SendReceiptRequest{Heading: to, Status: "read"}},
		{"no recipient", "/to", "recipient", api.SendReceiptRequest{MessageID: "m-1", Status: "read"}},
		{"detail of 4 KiB", "ok", "", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "read", Detail: strings.Repeat("é", 2<<10)}},
		{"detail of one more", "/detail", "at most 4096", api.SendReceiptRequest{Heading: to, MessageID: "m-1", Status: "read", Detail: strings.Repeat("é", 2<<10) + "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantBlame(t, "SendReceipt", valid.SendReceipt(&tt.req), tt.where, tt.detail) })
	}
}
