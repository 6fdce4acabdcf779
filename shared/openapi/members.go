package openapi

import (
	"maps"
	"reflect"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A word is a type that is a string on the wire, under its name in the document.
type word struct {
	name   string
	schema object
}

// words describes the identifiers and the other strings with a type of their own.
func words() map[reflect.Type]word {
	text := func(name, pattern string, longest int, doc string) word {
		return word{name, object{"type": "string", "pattern": pattern, "minLength": 1, "maxLength": longest, "description": doc}}
	}
	const noControl = `^[^\u0000-\u001f\u007f-\u009f]+$`
	return map[reflect.Type]word{
		reflect.TypeFor[ident.Agent]():        text("AgentID", `^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`, 64, "Names an agent and its inbox. Compared bytewise, never folded."),
		reflect.TypeFor[ident.Message]():      text("MessageID", `^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`, 128, "An envelope's id, chosen by the sender or made by the server."),
		reflect.TypeFor[ident.Conversation](): text("ConversationID", noControl, 256, "Groups envelopes. At most 256 bytes of UTF-8."),
		reflect.TypeFor[ident.Correlation]():  text("CorrelationID", noControl, 256, "Ties an answer to its question. At most 256 bytes of UTF-8."),
		reflect.TypeFor[ident.Request]():      text("RequestID", `^[A-Za-z0-9._-]+$`, 128, "The id of one HTTP request."),
		reflect.TypeFor[ident.Key]():          text("KeyID", `^[a-z0-9]+$`, 32, "The public id of an agent key."),
		reflect.TypeFor[api.Time]():           {"Time", object{"type": "string", "format": "date-time", "description": "RFC 3339; answered in UTC with Z and milliseconds."}},
		reflect.TypeFor[api.Kind](): {"Kind", object{
			"type": "string", "enum": []api.Kind{api.KindMessage, api.KindContactShare, api.KindReceipt}, "description": "What an envelope carries.",
		}},
		reflect.TypeFor[api.Code](): {"Code", object{"type": "string", "enum": api.Codes(), "description": "What went wrong. Clients branch on it; it never changes."}},
	}
}

// structures is what is to be said of a structure beyond its members.
func structures() map[string]object {
	return map[string]object{
		"SendRequest": {"anyOf": []object{{"required": []string{"text"}}, {"required": []string{"data"}}}},
		"Content":     {"anyOf": []object{{"required": []string{"text"}}, {"required": []string{"data"}}}},
		"Delivery": {
			"description": "A record of an inbox: the envelope as it was stored, or, if this version can't read it, the record as it is, with unreadable.",
			"oneOf":       []object{{"required": []string{"envelope"}}, {"required": []string{"unreadable", "headers", "body_base64"}}},
		},
		"Problem": {"description": "A failure (RFC 9457)."},
		"Limits":  {"description": "Every number a client may need. Sizes are bytes of UTF-8."},
		"OpenAPI": {"description": "An OpenAPI 3.1 document."},
	}
}

// members is what is to be said of a member or a parameter beyond its type, by
// its name, or by its structure's and its own where one name means several things.
func members() map[string]object {
	doc := func(text string, more ...object) object {
		o := object{"description": text}
		for _, m := range more {
			maps.Copy(o, m)
		}
		return o
	}
	longest := func(n int) object { return object{"maxLength": n} }
	strings := object{"maxProperties": api.MaxMapEntries, "propertyNames": object{"minLength": 1, "maxLength": api.MaxMapKeyBytes}}
	envelope := object{"holds": reflect.TypeFor[api.Envelope]()}
	return map[string]object{
		// Parameters, which bring their own descriptions.
		"limit": {"minimum": 1, "maximum": api.MaxPageItems, "default": api.DefaultPageItems},
		"wait":  {"minimum": 0, "maximum": api.MaxWaitSeconds, "default": 0},

		// Agents.
		"agent":                          doc("The agent."),
		"WhoAmI.agent":                   doc("The agent of an agent key, else null."),
		"credential":                     doc("What the credential of the call is.", object{"enum": []string{"api_token", "agent_key"}}),
		"display_name":                   doc("At most 256 bytes.", longest(api.MaxDisplayName)),
		"endpoint":                       doc("An https URL without user info. The server never connects to it.", longest(api.MaxEndpoint)),
		"capabilities":                   doc("What the agent can do.", object{"maxItems": api.MaxCapabilities, "items": object{"type": "string", "minLength": 1, "maxLength": api.MaxCapability}}),
		"public_key":                     doc("At most 4 KiB.", longest(api.MaxPublicKey)),
		"labels":                         doc("At most 16 KiB, keys and values together.", strings),
		"protocol_versions":              doc("Versions that the agent speaks, as MAJOR.MINOR.PATCH.", object{"maxItems": api.MaxVersions, "uniqueItems": true}),
		"created_at":                     doc("When it was made."),
		"updated_at":                     doc("When it was last changed."),
		"agents":                         doc("The page, in bytewise order of ids."),
		"ListAgentsResponse.next_cursor": doc("The cursor of the next page; null ends the list."),
		"id":                             doc("Its id."),
		"key":                            doc("The key itself, shown this once."),
		"keys":                           doc("The live keys, oldest first."),
		"last_four":                      doc("The last four characters of the key."),

		// Messages.
		"to":                     doc("The recipient."),
		"from":                   doc("The sender."),
		"SendRequest.id":         doc("Chosen by the sender: the same request with the same id is stored once, and answers 200. Recognised for 7 days."),
		"conversation_id":        doc("The conversation; a new one if left out."),
		"correlation_id":         doc("The id of the question that this answers."),
		"SendRequest.created_at": doc("When the sender made it; the server's time if left out. Any RFC 3339 instant, kept in UTC to the millisecond."),
		"text":                   doc("At most 512 KiB of UTF-8; may be empty.", longest(api.MaxTextBytes)),
		"data":                   doc("Any JSON, null too; at most 512 KiB without white space. Number tokens and the order of members are kept."),
		"content_type":           doc("The media type of the content.", longest(api.MaxContentType)),
		"metadata":               doc("At most 16 KiB, keys and values together.", strings),
		"schema":                 doc("The form of the envelope.", object{"const": api.EnvelopeSchema}),
		"kind":                   doc("What the envelope carries."),
		"message":                doc("The content, of kind message."),
		"envelope":               doc("The envelope exactly as it is stored.", envelope),
		"seq_num":                doc("Its position in the recipient's inbox."),
		"next_cursor":            doc("The position behind it: where to read on."),
		"timestamp":              doc("When it arrived in the inbox."),

		// Inboxes.
		"deliveries":  doc("The records from cursor on, without those filtered out."),
		"tail":        doc("The position that the next record will get."),
		"traceparent": doc("The W3C trace context that it was sent with."),
		"unreadable":  doc("Whether this version can't read the record.", object{"const": true}),
		"headers":     doc("The record's headers, bytes that are not UTF-8 replaced."),
		"body_base64": doc("The record's body."),
		"name":        doc("The header's name."),
		"value":       doc("The header's value."),

		// Problems.
		"type":               doc("about:blank: the code says more than a type could."),
		"title":              doc("The code in words."),
		"Problem.status":     doc("The HTTP status."),
		"detail":             doc("What was wrong and what would be right, for people; may change."),
		"code":               doc("What went wrong."),
		"field":              doc("JSON pointer to the member of the body that is to blame."),
		"parameter":          doc("The path segment, query parameter or header that is to blame."),
		"first":              doc("With generation_changed and history_trimmed: the first usable position."),
		"Problem.tail":       doc("With cursor_beyond_tail: the tail."),
		"senders":            doc("With ambiguous_message_id: who used the id."),
		"Problem.message_id": doc("With outcome_unknown: the id to repeat the request with."),
		"outcome":            doc("unknown: a write may have happened.", object{"const": "unknown"}),
		"retry":              doc("With outcome: what may be done.", object{"const": "same id only"}),
		"request_id":         doc("The id of the request, as in X-Request-Id and in the server's log."),

		// The service. Its limits are named as what they limit.
		"Limits.capabilities":      doc("The most capabilities of an agent."),
		"Limits.protocol_versions": doc("The most protocol versions of an agent."),
		"Health.status":            doc("ok.", object{"const": "ok"}),
		"version":                  doc("The server's version."),
	}
}
