package api

import "agentchat/shared/ident"

// A Profile is what an agent tells others about itself. The server never
// connects to Endpoint.
type Profile struct {
	DisplayName      string            `json:"display_name,omitempty"`      // at most 256 bytes
	Endpoint         string            `json:"endpoint,omitempty"`          // an https URL without user info, at most 2 KiB
	Capabilities     []string          `json:"capabilities,omitempty"`      // at most 64, of 1-128 bytes
	PublicKey        string            `json:"public_key,omitempty"`        // at most 4 KiB
	Labels           map[string]string `json:"labels,omitempty"`            // at most 64; keys 1-128 bytes, values at most 4 KiB, 16 KiB in all
	ProtocolVersions []string          `json:"protocol_versions,omitempty"` // MAJOR.MINOR.PATCH, at most 16
}

// RegisterRequest replaces the whole profile of an agent and registers it if it is not.
type RegisterRequest struct {
	Agent ident.Agent `json:"-" path:"agent" doc:"The agent."`
	Profile
}

// An AgentInfo is a registered agent. Lists and maps are present even if empty.
type AgentInfo struct {
	Agent            ident.Agent       `json:"agent"`
	DisplayName      string            `json:"display_name"`
	Endpoint         string            `json:"endpoint"`
	Capabilities     []string          `json:"capabilities"`
	PublicKey        string            `json:"public_key"`
	Labels           map[string]string `json:"labels"`
	ProtocolVersions []string          `json:"protocol_versions"`
	CreatedAt        Time              `json:"created_at"` // of this registration
	UpdatedAt        Time              `json:"updated_at"`
}

// RegisterResponse is an AgentInfo, and whether it is new: 201, else 200.
type RegisterResponse struct {
	AgentInfo
	Created bool `json:"-"`
}

// AgentPath is a request about one agent.
type AgentPath struct {
	Agent ident.Agent `json:"-" path:"agent" doc:"The agent."`
}

// ListAgentsRequest asks for a page of agents, in bytewise order of their ids.
type ListAgentsRequest struct {
	Limit  *int        `json:"-" query:"limit" doc:"Agents a page, 1-1000; default 100."`
	Cursor ident.Agent `json:"-" query:"cursor" doc:"The next_cursor of the page before."`
}

// ListAgentsResponse is a page of agents. A page may hold fewer than asked for
// and yet not be the last: only a null NextCursor ends the list.
type ListAgentsResponse struct {
	Agents     []AgentInfo  `json:"agents"`
	NextCursor *ident.Agent `json:"next_cursor"`
}

// MintKeyResponse is a new agent key; Key is shown this once.
type MintKeyResponse struct {
	ID        ident.Key `json:"id"`
	Key       string    `json:"key"`
	CreatedAt Time      `json:"created_at"`
}

// A KeyInfo is what is left of a key to be seen.
type KeyInfo struct {
	ID        ident.Key `json:"id"`
	LastFour  string    `json:"last_four"`
	CreatedAt Time      `json:"created_at"`
}

// ListKeysResponse lists the live keys of an agent, oldest first.
type ListKeysResponse struct {
	Keys []KeyInfo `json:"keys"`
}

// RevokeKeyRequest names a key of an agent.
type RevokeKeyRequest struct {
	Agent ident.Agent `json:"-" path:"agent" doc:"The agent."`
	Key   ident.Key   `json:"-" path:"key" doc:"The key's id."`
}

// WhoAmI says what the credential of the call is.
type WhoAmI struct {
	Credential string       `json:"credential"` // "api_token" or "agent_key"
	Agent      *ident.Agent `json:"agent"`      // of an agent key, else null
}
