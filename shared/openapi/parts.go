package openapi

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
	"agentchat/shared/sse"
	"agentchat/shared/strictjson"
)

const streamDoc = "Server-sent events: an event \"envelope\" a delivery, whose id is the next cursor, and a comment at least every 15 seconds. " +
	"An event \"problem\", which has no id, tells why the stream ends; a stream may also end without one. Reconnect with Last-Event-ID. The monitor's \"gap\" (GapEvent) tells of " +
	"records that are no longer retained, \"unavailable\" (UnavailableEvent) of an inbox that can't be read for now; neither has an id."

func tags() []object {
	docs := map[string]string{
		"agents":   "Registrations, agent keys and who calls.",
		"chats":    "Signed chats: two directional streams, receipts, ownership, proof.",
		"contacts": "Address books, and cards that are shared and accepted.",
		"inbox":    "Replay and live follow of what was received.",
		"messages": "Sending, and looking up what was sent.",
		"monitor":  "Every inbox as one, for the auditor.",
		"receipts": "What became of messages, told to their senders.",
		"service":  "What the server says of itself.",
	}
	var all []object
	for family := range route.Families {
		all = append(all, object{"name": family, "description": docs[family]})
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	return all
}

// securitySchemes returns those that a route has.
func securitySchemes() object {
	all := object{
		"apiToken":   object{"type": "http", "scheme": "bearer", "description": "The operator's token: acts as any agent, registers agents and mints their keys."},
		"agentKey":   object{"type": "http", "scheme": "bearer", "bearerFormat": "ak_<agent>~<key id>~<secret>", "description": "Acts as one agent."},
		"adminToken": object{"type": "http", "scheme": "bearer", "description": "Opens the aggregate monitor and nothing else."},
	}
	used := object{}
	for _, r := range route.Table {
		for _, scheme := range security(r.Access) {
			for name := range scheme {
				used[name] = all[name]
			}
		}
	}
	return used
}

func headers() object {
	text := func(doc string) object { return object{"description": doc, "schema": object{"type": "string"}} }
	return object{
		"X-Request-Id":        text("The id of this request: the one that was sent, or a new one."),
		"Retry-After":         object{"description": "Seconds after which a repeat may succeed; absent with outcome: unknown.", "schema": object{"type": "integer", "minimum": 0}},
		"WWW-Authenticate":    text("How to send a credential."),
		"Idempotent-Replayed": object{"description": "true: an earlier request with this id was stored, and this is its answer.", "schema": object{"type": "string", "const": "true"}},
	}
}

func parameters() object {
	return object{"X-Request-Id": object{
		"name": "X-Request-Id", "in": "header", "description": "An id for this request, echoed and logged. One that is malformed is replaced.",
		"schema": object{"type": "string"},
	}}
}

// The examples are those of the protocol.

func examples() map[string]json.RawMessage {
	const send = `{"to":"bob","conversation_id":"task-42","correlation_id":"request-7","text":"Please inspect this result",` +
		`"data":{"artifact":"s2://agent-chat/artifacts/result-7","priority":2},"content_type":"application/vnd.example.handoff+json","metadata":{"trace_id":"abc123"}}`
	const card = `"display_name":"Carol","endpoint":"https://agents.example.net","capabilities":["research"],"public_key":"did:key:z6Mk","labels":{"team":"discovery"}`
	d := exampleDelivery()
	return map[string]json.RawMessage{
		"SendRequest":  json.RawMessage(send),
		"SendResponse": encoded(api.SendResponse{Envelope: d.Envelope, SeqNum: d.SeqNum, NextCursor: d.SeqNum + 1, Timestamp: d.Timestamp}),
		"Delivery":     encoded(d),
		"InboxPage":    encoded(api.InboxPage{Deliveries: []api.Delivery{d}, NextCursor: d.SeqNum + 1, Tail: d.SeqNum + 1}),
		"MonitorPage": encoded(api.MonitorPage{
			Deliveries: []api.MonitorDelivery{exampleMonitored()}, NextCursor: exampleMonitored().Cursor, Tails: map[ident.Agent]uint64{"alice": 18, "bob": 43},
		}),
		"RegisterRequest": json.RawMessage("{" + card + `,"protocol_versions":["1.0.0"]}`),

		"PutContactRequest":    json.RawMessage(`{"id":"carol",` + card + "}"),
		"ShareContactRequest":  json.RawMessage(`{"to":"bob","contact_id":"carol","conversation_id":"task-42"}`),
		"AcceptContactRequest": json.RawMessage(`{"as":"carol-2"}`),
		"SendReceiptRequest": json.RawMessage(`{"to":"alice","message_id":"msg_0123456789abcdef0123456789abcdef","status":"processed",` +
			`"detail":"Result attached","conversation_id":"task-42"}`),
	}
}

func exampleDelivery() api.Delivery {
	const envelope = `{"schema":"agent-chat/envelope.v1","id":"msg_0123456789abcdef0123456789abcdef","kind":"message","from":"alice","to":"bob",` +
		`"conversation_id":"task-42","correlation_id":"request-7","created_at":"2026-07-19T12:00:00.000Z","message":{"text":"Please inspect this result"}}`
	return api.Delivery{SeqNum: 42, Timestamp: api.Time{Time: time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)}, Envelope: json.RawMessage(envelope)}
}

func exampleMonitored() api.MonitorDelivery {
	return api.MonitorDelivery{Inbox: "bob", Cursor: "eyJ2IjoxLCJwIjp7ImJvYiI6NDN9fQ", Delivery: exampleDelivery()}
}

func exampleStream(resp any) string {
	e := sse.Event{Name: "envelope", ID: "43", Data: encoded(exampleDelivery())}
	if _, ok := resp.(api.MonitorPage); ok {
		d := exampleMonitored()
		e.ID, e.Data = d.Cursor, encoded(d)
	}
	b, err := e.Append(nil)
	if err != nil {
		panic("openapi: " + err.Error())
	}
	return string(b)
}

func encoded(v any) json.RawMessage {
	b, err := strictjson.Append(nil, v)
	if err != nil {
		panic("openapi: " + err.Error())
	}
	return b
}
