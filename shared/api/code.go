// Package api holds the types of the protocols, one file a family, and every
// way in which a call can fail. It imports the standard library and the words
// only, so that a client may use it. A field's doc tag is what OpenAPI says of it.
package api

import "net/http"

// A Code says what went wrong, in a word that never changes: clients branch on
// it. Each comment says what was written: nothing, unless it says otherwise.
type Code string

// The codes.
const (
	InvalidJSON          Code = "invalid_json"         // not one JSON value of I-JSON: syntax, trailing data, UTF-8, depth
	UnknownField         Code = "unknown_field"        // a member that the operation does not have
	RepeatedField        Code = "repeated_field"       // a member given twice
	Invalid              Code = "invalid"              // a value, a path segment, a parameter or a header out of its range
	MissingCredential    Code = "missing_credential"   // no credential
	UnknownCredential    Code = "unknown_credential"   // a credential that opens nothing, or several that disagree
	Forbidden            Code = "forbidden"            // a known caller who may not do this
	NotFound             Code = "not_found"            // no such path
	AgentNotRegistered   Code = "agent_not_registered" // the agent in the path, or the sender
	RecipientNotFound    Code = "recipient_not_registered"
	MessageNotFound      Code = "message_not_found"
	KeyNotFound          Code = "key_not_found"
	ContactNotFound      Code = "contact_not_found"
	MonitorDisabled      Code = "monitor_disabled"       // the server has no admin token
	MethodNotAllowed     Code = "method_not_allowed"     // see Allow
	AmbiguousMessageID   Code = "ambiguous_message_id"   // several senders used the id: member "senders"
	IDReused             Code = "id_reused"              // the id was used for another request
	ContactExists        Code = "contact_exists"         // another card is saved under the id: member "replace" of the body
	ContactsFull         Code = "contacts_full"          // the address book holds no more; remove some
	NotAContactShare     Code = "not_a_contact_share"    // what was received under the id holds no card
	ReceiptMisaddressed  Code = "receipt_misaddressed"   // the message is of another sender
	ReceiptOfReceipt     Code = "receipt_of_receipt"     // receipts are answered by none
	GenerationChanged    Code = "generation_changed"     // a position of an earlier registration: member "first"; without it, a chat's stream is another one
	HistoryTrimmed       Code = "history_trimmed"        // a position before the retained start: member "first"
	CursorExpired        Code = "cursor_expired"         // a cursor of the monitor whose checkpoint is no more; begin without one
	BodyTooLarge         Code = "body_too_large"         // over Limits.BodyBytes
	RecordTooLarge       Code = "record_too_large"       // what would be stored is over S2's 1 MiB
	UnsupportedMediaType Code = "unsupported_media_type" // a body that is not JSON
	CursorBeyondTail     Code = "cursor_beyond_tail"     // member "tail"
	RateLimited          Code = "rate_limited"           // see Retry-After
	Internal             Code = "internal"               // a fault of ours; see the log under the request id
	StateLost            Code = "state_lost"             // a stream is not what was written to it; an operator must look
	Unavailable          Code = "unavailable"            // the store can't be reached; see Retry-After
	Busy                 Code = "busy"                   // overtaken by other writers for too long; see Retry-After
	SearchIncomplete     Code = "search_incomplete"      // more records than one call may search; narrow it
	OutcomeUnknown       Code = "outcome_unknown"        // MAY HAVE BEEN WRITTEN: repeat with the same id only; without an id, look first
)

// The codes of signed chats.
const (
	ChatNotFound       Code = "chat_not_found"           // no such chat, or one that the caller is no party to
	ChatsDisabled      Code = "chats_disabled"           // the server has no keys to sign with
	InvalidCursor      Code = "invalid_cursor"           // a cursor that was altered, or is of another chat, reader or stream
	PermissionRequired Code = "permission_required"      // the recipient has not allowed it yet
	PermissionDenied   Code = "permission_denied"        // the recipient does not allow it
	ClaimStale         Code = "claim_stale"              // owner or tail are not as reviewed: members "owner", "tail"
	OwnerReplaced      Code = "owner_replaced"           // another owner took the direction: member "owner"
	PositionTaken      Code = "position_taken"           // the direction's tail is not the expected one: member "tail"
	StreamMissing      Code = "stream_missing"           // a stream of the chat is gone; an operator must look
	PrefixUnavailable  Code = "prefix_unavailable"       // records of the chat are gone; an operator must look
	BatchUnknown       Code = "batch_unknown"            // no batch that was presented since the last receipt
	AppendTooLarge     Code = "append_too_large"         // over Limits.ChatAppendBytes
	PIIRejected        Code = "pii_rejected"             // personal data that the policy does not let through: member "types"
	DeliveryUnknown    Code = "delivery_outcome_unknown" // MAY HAVE BEEN WRITTEN: look "operation_id" up before anything else
)

// A Trait is what follows from a Code.
type Trait struct {
	Status  int
	Title   string
	Retry   bool // a repeat may succeed: the answer carries Retry-After
	Unknown bool // a write may have happened: the answer carries outcome and retry
}

// Trait returns what follows from c. An unknown code is Internal.
func (c Code) Trait() Trait {
	switch c {
	case InvalidJSON:
		return Trait{Status: http.StatusBadRequest, Title: "The body is not valid JSON"}
	case UnknownField:
		return Trait{Status: http.StatusBadRequest, Title: "Unknown member"}
	case RepeatedField:
		return Trait{Status: http.StatusBadRequest, Title: "Repeated member"}
	case Invalid:
		return Trait{Status: http.StatusBadRequest, Title: "Invalid value"}
	case MissingCredential:
		return Trait{Status: http.StatusUnauthorized, Title: "Credential required"}
	case UnknownCredential:
		return Trait{Status: http.StatusUnauthorized, Title: "Unknown credential"}
	case Forbidden:
		return Trait{Status: http.StatusForbidden, Title: "Not allowed"}
	case NotFound:
		return Trait{Status: http.StatusNotFound, Title: "No such path"}
	case AgentNotRegistered:
		return Trait{Status: http.StatusNotFound, Title: "Agent not registered"}
	case RecipientNotFound:
		return Trait{Status: http.StatusNotFound, Title: "Recipient not registered"}
	case MessageNotFound:
		return Trait{Status: http.StatusNotFound, Title: "Message not found"}
	case KeyNotFound:
		return Trait{Status: http.StatusNotFound, Title: "Key not found"}
	case ContactNotFound:
		return Trait{Status: http.StatusNotFound, Title: "Contact not found"}
	case MonitorDisabled:
		return Trait{Status: http.StatusNotFound, Title: "Monitor disabled"}
	case MethodNotAllowed:
		return Trait{Status: http.StatusMethodNotAllowed, Title: "Method not allowed"}
	case AmbiguousMessageID:
		return Trait{Status: http.StatusConflict, Title: "Several messages have this id"}
	case IDReused:
		return Trait{Status: http.StatusConflict, Title: "Id used for another request"}
	case ContactExists:
		return Trait{Status: http.StatusConflict, Title: "A different contact has this id"}
	case ContactsFull:
		return Trait{Status: http.StatusConflict, Title: "Address book full"}
	case NotAContactShare:
		return Trait{Status: http.StatusConflict, Title: "Not a contact share"}
	case ReceiptMisaddressed:
		return Trait{Status: http.StatusConflict, Title: "Receipt to another than the sender"}
	case ReceiptOfReceipt:
		return Trait{Status: http.StatusConflict, Title: "Receipt of a receipt"}
	case GenerationChanged:
		return Trait{Status: http.StatusGone, Title: "Position of an earlier registration"}
	case HistoryTrimmed:
		return Trait{Status: http.StatusGone, Title: "Position no longer retained"}
	case CursorExpired:
		return Trait{Status: http.StatusGone, Title: "Cursor expired"}
	case BodyTooLarge:
		return Trait{Status: http.StatusRequestEntityTooLarge, Title: "Body too large"}
	case RecordTooLarge:
		return Trait{Status: http.StatusRequestEntityTooLarge, Title: "Record too large"}
	case UnsupportedMediaType:
		return Trait{Status: http.StatusUnsupportedMediaType, Title: "Unsupported media type"}
	case CursorBeyondTail:
		return Trait{Status: http.StatusRequestedRangeNotSatisfiable, Title: "Cursor beyond the tail"}
	case RateLimited:
		return Trait{Status: http.StatusTooManyRequests, Title: "Too many requests", Retry: true}
	case StateLost:
		return Trait{Status: http.StatusInternalServerError, Title: "State lost"}
	case Unavailable:
		return Trait{Status: http.StatusServiceUnavailable, Title: "Store unavailable", Retry: true}
	case Busy:
		return Trait{Status: http.StatusServiceUnavailable, Title: "Busy", Retry: true}
	case SearchIncomplete:
		return Trait{Status: http.StatusServiceUnavailable, Title: "Search incomplete", Retry: true}
	case OutcomeUnknown:
		return Trait{Status: http.StatusServiceUnavailable, Title: "Outcome unknown", Unknown: true}
	case ChatNotFound:
		return Trait{Status: http.StatusNotFound, Title: "Chat not found"}
	case ChatsDisabled:
		return Trait{Status: http.StatusNotFound, Title: "Signed chats are off"}
	case InvalidCursor:
		return Trait{Status: http.StatusBadRequest, Title: "Invalid cursor"}
	case PermissionRequired:
		return Trait{Status: http.StatusForbidden, Title: "Permission required"}
	case PermissionDenied:
		return Trait{Status: http.StatusForbidden, Title: "Permission denied"}
	case ClaimStale:
		return Trait{Status: http.StatusConflict, Title: "Claim of what is no longer so"}
	case OwnerReplaced:
		return Trait{Status: http.StatusConflict, Title: "Owner replaced"}
	case PositionTaken:
		return Trait{Status: http.StatusConflict, Title: "Position taken"}
	case StreamMissing:
		return Trait{Status: http.StatusConflict, Title: "Stream missing"}
	case PrefixUnavailable:
		return Trait{Status: http.StatusGone, Title: "Records no longer retained"}
	case BatchUnknown:
		return Trait{Status: http.StatusConflict, Title: "Batch not presented"}
	case AppendTooLarge:
		return Trait{Status: http.StatusRequestEntityTooLarge, Title: "Append too large"}
	case PIIRejected:
		return Trait{Status: http.StatusUnprocessableEntity, Title: "Personal data"}
	case DeliveryUnknown:
		return Trait{Status: http.StatusServiceUnavailable, Title: "Delivery outcome unknown", Unknown: true}
	case Internal:
	}
	return Trait{Status: http.StatusInternalServerError, Title: "Internal error"}
}

// StreamChanged is the trait of GenerationChanged where a stream is not the one
// that a chat was made with.
func StreamChanged() Trait {
	return Trait{Status: http.StatusConflict, Title: "Stream of another generation"}
}

// Codes returns every code, in the order of their statuses.
func Codes() []Code {
	return []Code{
		InvalidJSON, UnknownField, RepeatedField, Invalid, InvalidCursor, MissingCredential, UnknownCredential, Forbidden, PermissionRequired,
		PermissionDenied, NotFound, AgentNotRegistered, RecipientNotFound, MessageNotFound, KeyNotFound, ContactNotFound, MonitorDisabled, ChatNotFound, ChatsDisabled,
		MethodNotAllowed, AmbiguousMessageID, IDReused, ContactExists, ContactsFull, NotAContactShare, ReceiptMisaddressed, ReceiptOfReceipt,
		ClaimStale, OwnerReplaced, PositionTaken, StreamMissing, BatchUnknown,
		GenerationChanged, HistoryTrimmed, CursorExpired, PrefixUnavailable, BodyTooLarge, RecordTooLarge, AppendTooLarge, UnsupportedMediaType,
		CursorBeyondTail, PIIRejected, RateLimited, Internal, StateLost, Unavailable, Busy, SearchIncomplete, OutcomeUnknown, DeliveryUnknown,
	}
}
