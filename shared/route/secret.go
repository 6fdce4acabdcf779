package route

// A Secret is a variable whose value is a secret. A host may be given NAME_SECRET
// in its place, which says where the value is kept.
type Secret string

// The secrets; docs/OPERATIONS.md says what each opens.
const (
	APIToken    Secret = "AGENT_CHAT_API_TOKEN"
	AdminToken  Secret = "AGENT_CHAT_ADMIN_TOKEN"
	S2Token     Secret = "AGENT_CHAT_S2_TOKEN"
	OriginLock  Secret = "AGENT_CHAT_ORIGIN_LOCK"
	SigningKeys Secret = "AGENT_CHAT_SIGNING_KEYS"
)

// LockHeader carries what OriginLock demands, from the edge to the function.
const LockHeader = "X-Origin-Lock"
