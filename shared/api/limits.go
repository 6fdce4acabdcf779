package api

// The limits of Agent Chat v1 (Limits and delivery semantics) and of
// docs/PROTOCOL.md. Sizes are bytes of UTF-8.
const (
	MaxAgentID       = 64 // as package ident has it, like the next three
	MaxMessageID     = 128
	MaxConversation  = 256
	MaxCorrelation   = 256
	MaxBodyBytes     = 768 << 10 // of an HTTP request
	MaxTextBytes     = 512 << 10
	MaxDataBytes     = 512 << 10 // compacted
	MaxJSONDepth     = 64
	MaxMapEntries    = 64 // of metadata and of labels
	MaxMapKeyBytes   = 128
	MaxMapValueBytes = 4 << 10
	MaxMapBytes      = 16 << 10 // keys and values together
	MaxContentType   = 255
	MaxDisplayName   = 256
	MaxEndpoint      = 2 << 10
	MaxCapabilities  = 64
	MaxCapability    = 128
	MaxPublicKey     = 4 << 10
	MaxVersions      = 16       // protocol versions of an agent
	MaxProfileBytes  = 64 << 10 // of a profile or a card, as JSON
	MaxPageItems     = 1000
	DefaultPageItems = 100
	MaxPageBytes     = 4 << 20 // of a JSON page
	MaxWaitSeconds   = 20
	HeartbeatSeconds = 15
	MaxSearchRecords = 50_000 // of one look-up by id
	MaxKeys          = 64     // live keys of an agent
	MaxAgentFilters  = 1000   // agents that a reader of the monitor may name
	MaxDetailBytes   = 4 << 10
	MaxContacts      = 20_000    // of an address book
	MaxContactsBytes = 16 << 20  // of an address book, as JSON
	MaxChatAppend    = 256 << 10 // of one append to a chat: records as S2 meters them, position and token
	ChatRepeats      = 1000      // records of a direction among which a repeated message id is recognised
	IDKeptDays       = 7         // how long a repeated id is recognised
)

// Limits is every number a client may need, as GET /v1/limits answers.
type Limits struct {
	BodyBytes          int `json:"body_bytes"`
	TextBytes          int `json:"text_bytes"`
	DataBytes          int `json:"data_bytes"`
	RecordBytes        int `json:"record_bytes"` // metered as S2 does: 8 + 2 a header + names + values + body
	JSONDepth          int `json:"json_depth"`
	MapEntries         int `json:"map_entries"`
	MapKeyBytes        int `json:"map_key_bytes"`
	MapValueBytes      int `json:"map_value_bytes"`
	MapBytes           int `json:"map_bytes"`
	ContentTypeBytes   int `json:"content_type_bytes"`
	DisplayNameBytes   int `json:"display_name_bytes"`
	EndpointBytes      int `json:"endpoint_bytes"`
	Capabilities       int `json:"capabilities" doc:"The most capabilities of an agent."`
	CapabilityBytes    int `json:"capability_bytes"`
	PublicKeyBytes     int `json:"public_key_bytes"`
	ProtocolVersions   int `json:"protocol_versions" doc:"The most protocol versions of an agent."`
	ProfileBytes       int `json:"profile_bytes"`
	AgentIDBytes       int `json:"agent_id_bytes"`
	MessageIDBytes     int `json:"message_id_bytes"`
	ConversationBytes  int `json:"conversation_id_bytes"`
	CorrelationBytes   int `json:"correlation_id_bytes"`
	PageItems          int `json:"page_items"`
	DefaultPageItems   int `json:"default_page_items"`
	PageBytes          int `json:"page_bytes"`
	WaitSeconds        int `json:"wait_seconds"`
	HeartbeatSeconds   int `json:"heartbeat_seconds"`
	StreamMaxAge       int `json:"stream_max_age_seconds"` // longest life of one live stream; 0: no bound
	SearchRecords      int `json:"search_records"`
	AgentFilters       int `json:"agent_filters" doc:"The most agents that a reader of the monitor may name."`
	KeysPerAgent       int `json:"keys_per_agent"`
	ChatAppendBytes    int `json:"chat_append_bytes" doc:"The most bytes of one append to a signed chat: its records as the store meters them, position and token."`
	ChatRepeats        int `json:"chat_repeats" doc:"Among how many of the latest records of a direction a repeated message id is recognised."`
	IDKeptDays         int `json:"id_kept_days"`
	ReceiptDetailBytes int `json:"receipt_detail_bytes"`
	Contacts           int `json:"contacts" doc:"The most contacts of an address book."`
	ContactsBytes      int `json:"contacts_bytes" doc:"The most that an address book holds, as JSON."`
	InboxRetentionDays int `json:"inbox_retention_days"` // 0: for ever
}
