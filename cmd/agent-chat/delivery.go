package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
)

// maxShown is how much of a message's data people are shown; texts are shown whole.
const maxShown = 2000

// An envelope is what people are shown of an envelope of any kind. Its types take
// what others may have stored in it, not only what this version would.
type envelope struct {
	ID           string         `json:"id"`
	Kind         string         `json:"kind"`
	From         string         `json:"from"`
	Conversation string         `json:"conversation_id"`
	Message      *api.Content   `json:"message"`
	Contact      jsontext.Value `json:"contact"`
	Receipt      jsontext.Value `json:"receipt"`
}

// delivery writes one delivery of an inbox for a person.
func (a *app) delivery(d api.Delivery) {
	e, parts := told(d)
	a.line(d, e.From, e.Conversation, parts)
}

// line writes one delivery for a person: position, local time, whose it is, text.
// Further lines of it are indented, so that none can pass for another delivery.
func (a *app) line(d api.Delivery, whose, conversation string, parts []string) {
	if conversation != "" && !strings.HasPrefix(conversation, "conv_") {
		whose += " (" + conversation + ")"
	}
	head := fmt.Sprintf("%s  %s  %s  ", a.paint(dim, fmt.Sprintf("%4d", d.SeqNum)),
		a.paint(dim, local(d.Timestamp)), a.paint(bold, inertLine(whose)))
	lines := strings.Split(strings.ReplaceAll(strings.Join(parts, "\n"), "\r\n", "\n"), "\n")
	fmt.Fprintln(a.out, head+inert(lines[0]))
	for _, l := range lines[1:] {
		fmt.Fprintln(a.out, "      "+inert(l))
	}
}

// told returns a delivery's envelope, and what it says, in parts.
// Nothing of either is inert.
func told(d api.Delivery) (e envelope, parts []string) {
	if d.Unreadable || json.Unmarshal(d.Envelope, &e) != nil {
		parts = append(parts, fmt.Sprintf("(unreadable: %d bytes; --json shows them)", len(d.BodyBase64)))
		for _, h := range d.Headers {
			parts = append(parts, h.Name+": "+h.Value)
		}
		return envelope{}, parts
	}
	switch {
	case e.Message != nil:
		if e.Message.Text != nil {
			parts = append(parts, *e.Message.Text)
		}
		return e, append(parts, shownData("", jsontext.Value(e.Message.Data))...)
	case len(e.Contact) > 0:
		return e, shownContact(e)
	case len(e.Receipt) > 0:
		return e, shownReceipt(e.Receipt)
	}
	return e, shownData("", jsontext.Value(d.Envelope)) // of a later version
}

// shownContact returns what a person needs of a card that was shared, and the id
// of the envelope, which accepts it.
func shownContact(e envelope) []string {
	card := cardText(e.Contact)
	if card == "" {
		return shownData("contact ", e.Contact)
	}
	return []string{"contact " + card + "; share " + e.ID}
}

// cardText returns the gist of a card; "" if it is none.
func cardText(v jsontext.Value) string {
	var card struct {
		ID           string   `json:"id"`
		DisplayName  string   `json:"display_name"`
		Endpoint     string   `json:"endpoint"`
		Capabilities []string `json:"capabilities"`
	}
	if json.Unmarshal(v, &card) != nil || card.ID == "" {
		return ""
	}
	s := card.ID
	if card.DisplayName != "" {
		s += " (" + card.DisplayName + ")"
	}
	for _, more := range append(card.Capabilities, card.Endpoint) {
		if more != "" {
			s += ", " + more
		}
	}
	return s
}

func shownReceipt(v jsontext.Value) []string {
	var r struct {
		Message string `json:"message_id"`
		Status  string `json:"status"`
		Detail  string `json:"detail"`
	}
	if json.Unmarshal(v, &r) != nil || r.Status == "" {
		return shownData("receipt ", v)
	}
	s := r.Status + " " + r.Message
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return []string{s}
}

// shownData returns JSON on one line, cut if it is long; nothing for no value.
func shownData(name string, v jsontext.Value) []string {
	if len(v) == 0 {
		return nil
	}
	if len(v) <= maxShown {
		return []string{name + string(v)}
	}
	return []string{fmt.Sprintf("%s%s… (%d bytes; --json shows them)", name, strings.ToValidUTF8(string(v[:maxShown]), ""), len(v))}
}
