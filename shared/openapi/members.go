package openapi

import (
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
		reflect.TypeFor[ident.Agent]():        text("AgentID", `^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`, api.MaxAgentID, "Names an agent and its inbox. Compared bytewise, never folded."),
		reflect.TypeFor[ident.Message]():      text("MessageID", `^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`, api.MaxMessageID, "An envelope's id, chosen by the sender or made by the server."),
		reflect.TypeFor[ident.Conversation](): text("ConversationID", noControl, api.MaxConversation, "Groups envelopes. At most 256 bytes of UTF-8."),
		reflect.TypeFor[ident.Correlation]():  text("CorrelationID", noControl, api.MaxCorrelation, "Ties an answer to its question. At most 256 bytes of UTF-8."),
		reflect.TypeFor[ident.Request]():      text("RequestID", `^[A-Za-z0-9._-]+$`, 128, "The id of one HTTP request."),
		reflect.TypeFor[ident.Key]():          text("KeyID", `^[a-z0-9]+$`, 32, "The public id of an agent key."),
		reflect.TypeFor[ident.Generation]():   text("Generation", `^[0-9a-f]{16}$`, 16, "Tells one stream, or one registration, of a name from the next."),
		reflect.TypeFor[ident.Claim]():        text("ClaimID", `^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`, 128, "The id of one claim of ownership."),
		reflect.TypeFor[ident.Chat]():         text("ChatID", `^chat_[0-9a-f]{32}$`, 37, "A signed chat."),
		reflect.TypeFor[ident.Operation]():    text("OperationID", `^op_[A-Za-z0-9_-]{43}$`, 46, "One write to a signed chat."),
		reflect.TypeFor[ident.Batch]():        text("BatchID", `^b_[A-Za-z0-9_-]{43}$`, 45, "A presented batch of a signed chat."),
		reflect.TypeFor[ident.Owner]():        text("OwnerID", `^f_[A-Za-z0-9_-]{32}$`, 34, "The public id of who owns a direction of a signed chat."),
		reflect.TypeFor[ident.OwnerToken]():   text("OwnerToken", `^own_[A-Za-z0-9_-]{22}$`, 26, "Proves ownership of a direction of a signed chat. A credential."),
		reflect.TypeFor[api.ChatCursor]():     {"ChatCursor", object{"type": "string", "minLength": 1, "description": "An opaque place in both directions of a signed chat."}},
		reflect.TypeFor[api.Position](): {"Position", object{
			"type": "string", "pattern": `^(0|[1-9][0-9]{0,19})$`, "description": "A position in a direction of a signed chat, in decimal digits.",
		}},
		reflect.TypeFor[api.Tail](): {"Tail", object{
			"type": []string{"integer", "string"}, "description": "The tail of a stream: a number for an inbox, decimal digits for a direction of a signed chat.",
		}},
		reflect.TypeFor[api.OrNull[ident.Owner]](): {"OwnerOrNull", object{
			"type": []string{"string", "null"}, "pattern": `^f_[A-Za-z0-9_-]{32}$`, "description": "The public id of an owner; null: nobody.",
		}},
		reflect.TypeFor[api.OrNull[api.Position]](): {"PositionOrNull", object{
			"type": []string{"string", "null"}, "pattern": `^(0|[1-9][0-9]{0,19})$`, "description": "A position, or none.",
		}},
		reflect.TypeFor[api.Permission]():       {"Permission", object{"type": "string", "enum": api.Permissions(), "description": "Whether one party of a chat may send to the other."}},
		reflect.TypeFor[api.Condition]():        {"Condition", object{"type": "string", "enum": api.Conditions(), "description": "How a server or a component is. What is degraded answers calls, and some of them not as it should."}},
		reflect.TypeFor[api.ComponentName]():    {"ComponentName", object{"type": "string", "enum": api.ComponentNames(), "description": "A part of a server that may fail by itself."}},
		reflect.TypeFor[api.PIIPolicy]():        {"PIIPolicy", object{"type": "string", "enum": api.PIIPolicies(), "description": "What is done with personal data in what is sent."}},
		reflect.TypeFor[api.OperationOutcome](): {"OperationOutcome", object{"type": "string", "enum": api.OperationOutcomes(), "description": "Whether an operation is stored."}},
		reflect.TypeFor[api.Time]():             {"Time", object{"type": "string", "format": "date-time", "description": "RFC 3339; answered in UTC with Z and milliseconds."}},
		reflect.TypeFor[api.Kind](): {"Kind", object{
			"type": "string", "enum": api.Kinds(), "description": "What an envelope carries.",
		}},
		reflect.TypeFor[api.ContactKind](): {"ContactKind", object{
			"type": "string", "enum": api.ContactKinds(), "description": "What happened to a contact.",
		}},
		reflect.TypeFor[api.ReceiptStatus](): {"ReceiptStatus", object{
			"type": "string", "enum": api.ReceiptStatuses(), "description": "What became of a message.",
		}},
		reflect.TypeFor[api.Code](): {"Code", object{"type": "string", "enum": api.Codes(), "description": "What went wrong. Clients branch on it; it never changes."}},
	}
}

// structures is what is to be said of a structure beyond its members.
func structures() map[string]object {
	return map[string]object{
		"SendRequest": {"anyOf": []object{{"required": []string{"text"}}, {"required": []string{"data"}}}},
		"Content":     {"anyOf": []object{{"required": []string{"text"}}, {"required": []string{"data"}}}},
		"Envelope":    {"oneOf": []object{{"required": []string{"message"}}, {"required": []string{"contact"}}, {"required": []string{"receipt"}}}},
		"Delivery": {
			"description": "A record of an inbox: the envelope as it was stored, or, if this version can't read it, the record as it is, with unreadable.",
			"oneOf":       []object{{"required": []string{"envelope"}}, {"required": []string{"unreadable", "headers", "body_base64"}}},
		},
		"Problem": {"description": "A failure (RFC 9457)."},
		"Limits":  {"description": "Every number a client may need. Sizes are bytes of UTF-8."},
		"OpenAPI": {"description": "An OpenAPI 3.1 document."},
	}
}

// bounds is what is to be said of a member or a parameter beyond its type and its
// description, by its name, or by its structure's and its own where one name
// means several things.
func bounds() map[string]object {
	longest := func(n int) object { return object{"maxLength": n} }
	always := func(v string) object { return object{"const": v} }
	texts := object{"maxProperties": api.MaxMapEntries, "propertyNames": object{"minLength": 1, "maxLength": api.MaxMapKeyBytes}}
	return map[string]object{
		"limit": {"minimum": 1, "maximum": api.MaxPageItems, "default": api.DefaultPageItems},
		"wait":  {"minimum": 0, "maximum": api.MaxWaitSeconds, "default": 0},

		"display_name":      longest(api.MaxDisplayName),
		"endpoint":          longest(api.MaxEndpoint),
		"capabilities":      {"maxItems": api.MaxCapabilities, "items": object{"type": "string", "minLength": 1, "maxLength": api.MaxCapability}},
		"public_key":        longest(api.MaxPublicKey),
		"labels":            texts,
		"protocol_versions": {"maxItems": api.MaxVersions, "uniqueItems": true},
		"credential":        {"enum": []string{"api_token", "agent_key"}},

		"schema":       always(api.EnvelopeSchema),
		"text":         longest(api.MaxTextBytes),
		"content_type": longest(api.MaxContentType),
		"metadata":     texts,
		"envelope":     {"holds": reflect.TypeFor[api.Envelope]()},
		"unreadable":   {"const": true},

		"Receipt.detail":            longest(api.MaxDetailBytes),
		"SendReceiptRequest.detail": longest(api.MaxDetailBytes),

		// Named as what they limit.
		"Limits.capabilities":      {},
		"Limits.protocol_versions": {},

		"Problem.outcome": always("unknown"),
		"Problem.retry":   {"enum": []string{"same id only", "inspect"}},
		"Health.status":   always("ok"),
	}
}
