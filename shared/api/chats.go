package api

import (
	"encoding/json"

	"agentchat/shared/ident"
)

// The operations of signed chats (Chat protocol). Positions are strings of
// decimal digits, scoped to a stream and its generation. Requests name who acts
// in agent_id, since a chat's path names no agent; Actor returns it.

// CreateChatRequest finds the chat of two agents, or makes it.
type CreateChatRequest struct {
	AgentID ident.Agent `json:"agent_id" doc:"Who acts: one of the two."`
	PeerID  ident.Agent `json:"peer_id" doc:"The other one."`
}

// Actor returns who acts.
func (r CreateChatRequest) Actor() ident.Agent { return r.AgentID }

// CreateChatResponse is the chat, and whether it is new.
type CreateChatResponse struct {
	Chat
	Made
}

// ListChatsRequest asks for a page of an agent's chats, oldest first.
type ListChatsRequest struct {
	AgentID ident.Agent `json:"-" query:"agent_id" doc:"Who acts."`
	Limit   *int        `json:"-" query:"limit" doc:"Chats a page, 1-1000; default 100."`
	Cursor  *uint64     `json:"-" query:"cursor" doc:"Where to read on: next_cursor of the page before."`
}

// Actor returns who acts.
func (r ListChatsRequest) Actor() ident.Agent { return r.AgentID }

// ListChatsResponse is a page of chats. Chats is never null.
type ListChatsResponse struct {
	Chats       []Chat                     `json:"chats" doc:"Chats, the oldest first."`
	Unavailable map[ident.Chat]Unreachable `json:"unavailable,omitempty" doc:"Chats of the page that could not be read."`
	NextCursor  *uint64                    `json:"next_cursor" doc:"Where to read on; null at the end."`
}

// ChatRequest is a request about one chat.
type ChatRequest struct {
	Chat    ident.Chat  `json:"-" path:"chat" doc:"The chat."`
	AgentID ident.Agent `json:"-" query:"agent_id" doc:"Who acts: one of its parties."`
}

// Actor returns who acts.
func (r ChatRequest) Actor() ident.Agent { return r.AgentID }

// A Chat is the chat record. AgentA is the party whose id is the smaller one.
type Chat struct {
	ID        ident.Chat  `json:"id" doc:"The chat."`
	AgentAID  ident.Agent `json:"agentAId" doc:"The party whose id is the smaller one, bytewise."`
	AgentBID  ident.Agent `json:"agentBId" doc:"The other party."`
	AgentA    ChatAgent   `json:"agentA" doc:"Who agentAId is."`
	AgentB    ChatAgent   `json:"agentB" doc:"Who agentBId is."`
	CreatedAt Time        `json:"createdAt" doc:"When the chat was made."`
	StreamA   ChatStream  `json:"streamA" doc:"What agentAId writes."`
	StreamB   ChatStream  `json:"streamB" doc:"What agentBId writes."`
}

// A ChatAgent is a party as others see it.
type ChatAgent struct {
	ID       ident.Agent `json:"id" doc:"The agent."`
	Name     string      `json:"name" doc:"Its display name, or else its id."`
	Username string      `json:"username" doc:"Its id."`
	Image    *string     `json:"image" doc:"An https URL, or null."`
}

// A ChatStream is one direction of a chat. Owner and Tail are as of the moment
// of the answer, and only where one chat is asked for.
type ChatStream struct {
	StreamID   string           `json:"streamId" doc:"The stream's name."`
	Generation ident.Generation `json:"generation" doc:"Its generation: positions of another one mean nothing here."`
	Owner      ident.Owner      `json:"owner,omitempty" doc:"Who owns the direction; absent if nobody does."`
	Tail       *Position        `json:"tail,omitempty" doc:"The position that its next record will get."`
}

// ClaimRequest takes ownership of the actor's own direction. What was reviewed
// must still be so: an owner that is null was none, and then a tail that is null
// is any.
type ClaimRequest struct {
	Chat          ident.Chat          `json:"-" path:"chat" doc:"The chat."`
	AgentID       ident.Agent         `json:"agent_id" doc:"Who acts, and whose direction it is."`
	ReviewedOwner OrNull[ident.Owner] `json:"reviewed_owner,omitzero" doc:"The owner that was seen; null or absent: none."`
	ReviewedTail  OrNull[Position]    `json:"reviewed_tail,omitzero" doc:"The tail that was seen; null or absent, with no owner: any."`
	ClaimID       ident.Claim         `json:"claim_id,omitempty" doc:"Chosen by the caller: the same claim with the same id has the same answer, so that a lost one can be had again."`
}

// Actor returns who acts.
func (r ClaimRequest) Actor() ident.Agent { return r.AgentID }

// ClaimResponse is an ownership.
type ClaimResponse struct {
	Token      ident.OwnerToken `json:"token" doc:"What every append carries. It is a credential."`
	Owner      ident.Owner      `json:"owner" doc:"The public id of this ownership."`
	Tail       Position         `json:"tail" doc:"The expected position of the first append."`
	Generation ident.Generation `json:"generation" doc:"The generation of the direction."`
	ClaimID    ident.Claim      `json:"claim_id" doc:"The id of this claim: the one that was sent, or a new one."`
}

// ChatMessageRequest signs and appends a message, and with Ack a receipt at once.
type ChatMessageRequest struct {
	Chat             ident.Chat       `json:"-" path:"chat" doc:"The chat."`
	AgentID          ident.Agent      `json:"agent_id" doc:"Who acts: the sender."`
	Token            ident.OwnerToken `json:"token" doc:"The token of the ownership of the sender's direction."`
	ExpectedPosition *Position        `json:"expected_position" doc:"Where the message is to stand: the tail of the direction."`
	MessageID        ident.Message    `json:"message_id" doc:"Chosen by the sender: the same request with the same id is stored once."`
	Content          *string          `json:"content" doc:"The text; may be empty. The whole append has at most 256 KiB."`
	Ack              *Acknowledgement `json:"ack,omitempty" doc:"A presented batch that this answers: acknowledged in the same append."`
}

// Actor returns who acts.
func (r ChatMessageRequest) Actor() ident.Agent { return r.AgentID }

// An Acknowledgement names a batch that was presented.
type Acknowledgement struct {
	PeerStreamID   string           `json:"peerStreamId" doc:"The peer's stream."`
	PeerGeneration ident.Generation `json:"peerGeneration" doc:"Its generation."`
	NextPosition   *Position        `json:"nextPosition" doc:"The position behind the batch."`
	BatchID        ident.Batch      `json:"batchId" doc:"The batch."`
}

// ChatReceiptRequest appends a receipt of a presented batch.
type ChatReceiptRequest struct {
	Chat             ident.Chat       `json:"-" path:"chat" doc:"The chat."`
	AgentID          ident.Agent      `json:"agent_id" doc:"Who acts: the reader of the batch."`
	Token            ident.OwnerToken `json:"token" doc:"The token of the ownership of the reader's own direction."`
	ExpectedPosition *Position        `json:"expected_position" doc:"Where the receipt is to stand: the tail of that direction."`
	Acknowledgement
}

// Actor returns who acts.
func (r ChatReceiptRequest) Actor() ident.Agent { return r.AgentID }

// A ChatRecord is a record of a direction, where it stands. Record holds the
// very bytes that are stored, signature included.
type ChatRecord struct {
	StreamID   string           `json:"streamId" doc:"The direction that it is in."`
	Generation ident.Generation `json:"generation" doc:"The generation of that stream."`
	Position   Position         `json:"position" doc:"Its position in it."`
	Timestamp  Time             `json:"timestamp" doc:"When it arrived there."`
	Record     json.RawMessage  `json:"record" doc:"The record exactly as it is stored."`
}

// ChatAppendResponse says what was stored and where: the message, or the receipt
// where that was all.
type ChatAppendResponse struct {
	ChatRecord
	Receipt      *ChatRecord     `json:"receipt,omitempty" doc:"The receipt that was stored with the message."`
	OperationID  ident.Operation `json:"operationId" doc:"The operation that wrote it."`
	NextPosition Position        `json:"nextPosition" doc:"The position behind it: the next expected position."`
	Redactions   []Redaction     `json:"redactions,omitempty" doc:"What the policy replaced in the content."`
	Once
}

// A Redaction says how often a kind of value was replaced.
type Redaction struct {
	Type  string `json:"type" doc:"What kind of value: email, phone, card and so on."`
	Count int    `json:"count" doc:"How many."`
}

// TranscriptRequest reads or follows what both parties wrote.
type TranscriptRequest struct {
	Chat        ident.Chat  `json:"-" path:"chat" doc:"The chat."`
	AgentID     ident.Agent `json:"-" query:"agent_id" doc:"Who acts: the reader."`
	Limit       *int        `json:"-" query:"limit" doc:"Items a page, 1-1000; default 100. A page is also cut at 4 MiB."`
	Cursor      ChatCursor  `json:"-" query:"cursor" doc:"Where to read on: cursor of the page before, or a liveCursor."`
	Follow      *bool       `json:"-" query:"follow" doc:"true: follow over server-sent events from a liveCursor, as Accept: text/event-stream asks too."`
	LastEventID ChatCursor  `json:"-" header:"Last-Event-ID" doc:"The id of the last event seen; it wins over cursor. Follow only."`
	Include     string      `json:"-" query:"include" doc:"receipts, fences, or both with a comma: shown besides messages."`
}

// Actor returns who acts.
func (r TranscriptRequest) Actor() ident.Agent { return r.AgentID }

// A ChatCursor is an opaque place in both directions of a chat.
type ChatCursor string

// TranscriptPage is a page of a transcript, by timestamp, participant and
// position, up to the ends of one snapshot.
type TranscriptPage struct {
	Items      []ChatRecord `json:"items" doc:"The messages, and what else was asked for."`
	Cursor     *ChatCursor  `json:"cursor" doc:"Where the next page of this snapshot begins; null at its end."`
	HasMore    bool         `json:"hasMore" doc:"Whether the snapshot goes on."`
	LiveCursor ChatCursor   `json:"liveCursor" doc:"The snapshot's end: follow, or read later, from here."`
}

// BatchRequest asks for what the peer wrote since the actor's last receipt.
type BatchRequest struct {
	Chat    ident.Chat  `json:"-" path:"chat" doc:"The chat."`
	AgentID ident.Agent `json:"-" query:"agent_id" doc:"Who acts: the reader."`
	Limit   *int        `json:"-" query:"limit" doc:"Messages a batch, 1-1000; default 100. A batch is also cut at 4 MiB."`
}

// Actor returns who acts.
func (r BatchRequest) Actor() ident.Agent { return r.AgentID }

// ChatBatch is what is to be presented next. Reading it acknowledges nothing.
type ChatBatch struct {
	BatchID        *ident.Batch        `json:"batchId" doc:"Names the batch in a receipt; null if there is no message."`
	PeerStreamID   string              `json:"peerStreamId" doc:"The peer's stream."`
	PeerGeneration ident.Generation    `json:"peerGeneration" doc:"Its generation."`
	From           Position            `json:"from" doc:"The position up to which is acknowledged."`
	NextPosition   Position            `json:"nextPosition" doc:"The position behind the batch."`
	Items          []ChatRecord        `json:"items" doc:"The peer's messages."`
	HasMore        bool                `json:"hasMore" doc:"Whether the peer wrote more."`
	Owner          OrNull[ident.Owner] `json:"owner" doc:"Who owns the reader's own direction now; null: nobody."`
	Tail           Position            `json:"tail" doc:"The tail of the reader's own direction."`
}

// OperationRequest asks whether an operation of the actor's was stored.
type OperationRequest struct {
	Chat             ident.Chat      `json:"-" path:"chat" doc:"The chat."`
	Operation        ident.Operation `json:"-" path:"operation" doc:"The operation."`
	AgentID          ident.Agent     `json:"-" query:"agent_id" doc:"Who acts: whose operation it is."`
	ExpectedPosition *Position       `json:"-" query:"expected_position" doc:"Where it was to stand."`
}

// Actor returns who acts.
func (r OperationRequest) Actor() ident.Agent { return r.AgentID }

// An OperationOutcome is what became of an operation.
type OperationOutcome string

// The outcomes.
const (
	OperationStored OperationOutcome = "stored"
	OperationAbsent OperationOutcome = "absent"
)

// OperationResponse says what became of an operation. It is never partial: all
// of its records are stored, or none is.
type OperationResponse struct {
	OperationID ident.Operation  `json:"operationId" doc:"The operation."`
	Outcome     OperationOutcome `json:"outcome" doc:"Whether its records are stored."`
	Final       bool             `json:"final" doc:"false: it may still be stored; a claim at the tail decides."`
	Records     []ChatRecord     `json:"records" doc:"Its records; none if it is absent."`
	Tail        Position         `json:"tail" doc:"The tail of the direction."`
}

// A Permission is whether one party may send to the other.
type Permission string

// The permissions.
const (
	Allowed Permission = "allowed"
	Pending Permission = "pending"
	Denied  Permission = "denied"
)

// Permissions returns every permission.
func Permissions() []Permission { return []Permission{Allowed, Pending, Denied} }

// PermissionsRequest sets the permission of the direction whose recipient acts,
// or tightens the chat's policy, or both.
type PermissionsRequest struct {
	Chat      ident.Chat  `json:"-" path:"chat" doc:"The chat."`
	AgentID   ident.Agent `json:"agent_id" doc:"Who acts: the recipient of the direction."`
	State     Permission  `json:"state,omitempty" doc:"What the peer may: allowed or denied."`
	PIIPolicy PIIPolicy   `json:"pii_policy,omitempty" doc:"The policy of this chat, if it is stricter than the server's. API token only; it can only be tightened."`
}

// Actor returns who acts.
func (r PermissionsRequest) Actor() ident.Agent { return r.AgentID }

// PermissionsResponse is the permission and grant state of a chat.
type PermissionsResponse struct {
	ChatID      ident.Chat            `json:"chatId" doc:"The chat."`
	Permissions []DirectionPermission `json:"permissions" doc:"Of both directions, agentA's first."`
	PIIPolicy   PIIPolicy             `json:"piiPolicy" doc:"What is done with personal data in what is sent."`
}

// A DirectionPermission is the state of one direction.
type DirectionPermission struct {
	FromAgentID ident.Agent `json:"fromAgentId" doc:"Who sends."`
	ToAgentID   ident.Agent `json:"toAgentId" doc:"Who receives, and decides."`
	State       Permission  `json:"state" doc:"Whether it may."`
	By          string      `json:"by" doc:"Who decided: recipient, operator (the API token), or server (as the chat began)."`
	Since       Time        `json:"since" doc:"Since when."`
}

// A PIIPolicy is what is done with personal data in the content of messages.
type PIIPolicy string

// The policies, each stricter than the one before.
const (
	PIIOff    PIIPolicy = "off"
	PIIRedact PIIPolicy = "redact"
	PIIReject PIIPolicy = "reject"
)

// PIIPolicies returns every policy, the strictest last.
func PIIPolicies() []PIIPolicy { return []PIIPolicy{PIIOff, PIIRedact, PIIReject} }

// OperationOutcomes returns every outcome.
func OperationOutcomes() []OperationOutcome {
	return []OperationOutcome{OperationStored, OperationAbsent}
}

// JWKS stands for a JWK set (RFC 7517), the public keys of records: package signed makes it.
type JWKS struct{}

// ChatExtensions is what a problem tells of a direction of a chat.
type ChatExtensions struct {
	Owner     *OrNull[ident.Owner] `json:"owner,omitempty" doc:"With claim_stale and owner_replaced: who owns the direction; null: nobody."`
	Claim     ident.Claim          `json:"claim_id,omitempty" doc:"With outcome_unknown of a claim: the id to repeat the claim with."`
	Operation ident.Operation      `json:"operation_id,omitempty" doc:"With delivery_outcome_unknown: the operation to look up."`
	Types     []string             `json:"types,omitempty" doc:"With pii_rejected: the kinds of personal data that were found."`
}
