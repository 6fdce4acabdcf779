package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
	"agentchat/shared/sse"
	"agentchat/shared/strictjson"
)

// streamed returns the media type object of a stream.
func streamed(st route.Stream) object {
	doc := "Server-sent events: " + st.Doc + " A comment comes at least every 15 seconds. An event \"problem\", which has no id, tells why the stream ends; " +
		"a stream may also end without one. Reconnect with Last-Event-ID."
	if st.More != "" {
		doc += " " + st.More
	}
	m := object{"schema": object{"type": "string", "description": doc}}
	first := st.Events[0]
	of := reflect.TypeOf(first.Data).Name()
	if id, ok := exampleIDs()[of]; ok {
		b, err := sse.Event{Name: first.Name, ID: id, Data: examples()[of]}.Append(nil)
		if err != nil {
			panic("openapi: " + err.Error())
		}
		m["example"] = string(b)
	}
	return m
}

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

		"xApiKeyHeader": object{"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "What Authorization: Bearer takes."},
		"apiKeyHeader":  object{"type": "apiKey", "in": "header", "name": "Api-Key", "description": "What Authorization: Bearer takes."},
	}
	used := object{}
	for _, r := range route.Table {
		for _, scheme := range security(r) {
			for name := range scheme {
				used[name] = all[name]
			}
		}
	}
	return used
}

// headers returns those of every answer, and those that a success has.
func headers() object {
	text := func(doc string) object { return object{"description": doc, "schema": object{"type": "string"}} }
	of := object{
		"X-Request-Id":     text("The id of this request: the one that was sent, or a new one."),
		"Retry-After":      object{"description": "Seconds after which a repeat may succeed; absent with outcome: unknown.", "schema": object{"type": "integer", "minimum": 0}},
		"WWW-Authenticate": text("How to send a credential."),
	}
	successful := object{
		"Idempotent-Replayed": object{"description": "true: an earlier request with this id was stored, and this is its answer.", "schema": object{"type": "string", "const": "true"}},
		"Location":            text("Where what was made, or accepted, is found."),
	}
	for _, r := range route.Table {
		for _, header := range successes(r) {
			for name := range header {
				of[name] = successful[name]
			}
		}
	}
	return of
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
		"SendRequest":     json.RawMessage(send),
		"SendResponse":    encoded(api.SendResponse{Envelope: d.Envelope, SeqNum: d.SeqNum, NextCursor: d.SeqNum + 1, Timestamp: d.Timestamp}),
		"Delivery":        encoded(d),
		"ChatRecord":      encoded(exampleRecord()),
		"InboxPage":       encoded(api.InboxPage{Deliveries: []api.Delivery{d}, NextCursor: d.SeqNum + 1, Tail: d.SeqNum + 1}),
		"MonitorDelivery": encoded(exampleMonitored()),
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

func exampleRecord() api.ChatRecord {
	const chat = "chat_0123456789abcdef0123456789abcdef"
	const record = `{"protocol":"yello.chat.message.v1","version":2,"chatId":"` + chat + `","authorAgentId":"alice","operationId":"op_mhj-KQ5lO7kj9YELO9g8rw7lt4zwwvI9hDztqnTuFno",` +
		`"recordIndex":0,"type":"chat.message","authoredWith":"agent_key","message":{"chatId":"` + chat + `","fromAgentId":"alice","toAgentId":"bob",` +
		`"clientMessageId":"cmid_SVF-pBoD8vUENUsbCeHLoaRk2IbVKJXVz0WD675LISU","content":"hello","contentSha256":"LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",` +
		`"signature":{"kid":"bDFf6O7Ktv5ALaKk_7Ajsqgg3tsD9SNtH_VBz2A-xUo","alg":"ES256",` +
		`"value":"mr8YUUt7IrXpukGRmJMTKBlAN00DQ7jTASHB5h4mnJvWtH-5MZtL8vewdJNUubxUeZ3Cy42_ObNFW--zzYgfzg","createdAt":"2026-07-19T12:00:00.000Z"}}}`
	return api.ChatRecord{
		StreamID: "chats/" + chat + "/alice", Generation: "4c8b87445f622be6", Position: 3,
		Timestamp: api.Time{Time: time.Date(2026, 7, 19, 12, 0, 0, 1e6, time.UTC)}, Record: json.RawMessage(record),
	}
}

// exampleIDs returns the ids of the examples that are events.
func exampleIDs() map[string]string {
	return map[string]string{
		"Delivery": "43", "MonitorDelivery": exampleMonitored().Cursor, "ChatRecord": "vrYblLpAAQUEHQZrPMfqh81XTPSnCFbg9A",
	}
}

func encoded(v any) json.RawMessage {
	b, err := strictjson.Append(nil, v)
	if err != nil {
		panic("openapi: " + err.Error())
	}
	return b
}
