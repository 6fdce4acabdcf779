package mailbox_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/strictjson"
)

// What is stored is, byte for byte, what strictjson makes of the same envelope.
func TestEnvelopeEncoding(t *testing.T) {
	w := newWorld(t)
	m := w.process()
	register(t, m, "alice", "bob")
	texts := rapid.MapOf(rapid.String(), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		d := mailbox.Draft{
			Op: "messages.send", Kind: api.KindMessage, From: "alice", To: "bob",
			CorrelationID: ident.Correlation(rapid.StringMatching(`[^\pC]{0,60}`).Draw(t, "correlation")),
			Message:       &api.Content{ContentType: rapid.String().Draw(t, "type")},
			Metadata:      texts.Draw(t, "metadata"),
		}
		if rapid.Bool().Draw(t, "has text") {
			d.Message.Text = new(rapid.String().Draw(t, "text"))
		}
		if rapid.Bool().Draw(t, "has data") {
			d.Message.Data = json.RawMessage(rapid.SampledFrom([]string{`null`, `{"z":1.0,"a":[1E+2,"\u003c"]}`, `""`, `[]`}).Draw(t, "data"))
		}
		if rapid.Bool().Draw(t, "no message") {
			d.Message = nil
		}
		if rapid.Bool().Draw(t, "has contact") {
			d.Contact = &api.Card{
				ID: "carol", DisplayName: rapid.String().Draw(t, "name"), Endpoint: rapid.String().Draw(t, "endpoint"),
				Capabilities: rapid.SliceOf(rapid.String()).Draw(t, "capabilities"), PublicKey: rapid.String().Draw(t, "key"),
				Labels: texts.Draw(t, "labels"),
			}
		}
		if rapid.Bool().Draw(t, "has receipt") {
			d.Receipt = &api.Receipt{MessageID: "order-1", Status: api.ReceiptStatus(rapid.String().Draw(t, "status")), Detail: rapid.String().Draw(t, "detail")}
		}
		sent, err := m.Send(w.t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var env api.Envelope
		if err := json.Unmarshal(sent.Envelope, &env); err != nil {
			t.Fatalf("the stored envelope %q: %v", sent.Envelope, err)
		}
		want, err := strictjson.Append(nil, &env)
		if err != nil {
			t.Fatal(err)
		}
		if string(sent.Envelope) != string(want) {
			t.Fatalf("stored\n%s\nwant\n%s", sent.Envelope, want)
		}
	})
}
