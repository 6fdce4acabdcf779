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

// An envelope is what people are shown of an envelope of any kind.
type envelope struct {
	From         string         `json:"from"`
	Conversation string         `json:"conversation_id"`
	Message      *api.Content   `json:"message"`
	Contact      jsontext.Value `json:"contact"`
	Receipt      jsontext.Value `json:"receipt"`
}

// delivery writes one delivery for a person: position, local time, sender, text.
// Further lines of it are indented, so that none can pass for another delivery.
func (a *app) delivery(d api.Delivery) {
	var e envelope
	readable := !d.Unreadable && json.Unmarshal(d.Envelope, &e) == nil
	var parts []string
	switch {
	case !readable:
		parts = append(parts, fmt.Sprintf("(unreadable: %d bytes; --json shows them)", len(d.BodyBase64)))
		for _, h := range d.Headers {
			parts = append(parts, h.Name+": "+h.Value)
		}
	case e.Message != nil:
		if e.Message.Text != nil {
			parts = append(parts, *e.Message.Text)
		}
		parts = append(parts, shownData("", jsontext.Value(e.Message.Data))...)
	case len(e.Contact) > 0:
		parts = shownData("contact ", e.Contact)
	case len(e.Receipt) > 0:
		parts = shownData("receipt ", e.Receipt)
	default: // of a later version
		parts = shownData("", jsontext.Value(d.Envelope))
	}

	from := e.From
	if e.Conversation != "" && !strings.HasPrefix(e.Conversation, "conv_") {
		from += " (" + e.Conversation + ")"
	}
	head := fmt.Sprintf("%s  %s  %s  ", a.paint(dim, fmt.Sprintf("%4d", d.SeqNum)),
		a.paint(dim, d.Timestamp.Local().Format("2006-01-02 15:04:05")), a.paint(bold, inertLine(from)))
	lines := strings.Split(strings.ReplaceAll(strings.Join(parts, "\n"), "\r\n", "\n"), "\n")
	fmt.Fprintln(a.out, head+inert(lines[0]))
	for _, l := range lines[1:] {
		fmt.Fprintln(a.out, "      "+inert(l))
	}
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
