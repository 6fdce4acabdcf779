package api

import (
	"net/http"

	"agentchat/shared/ident"
)

// A Profile is what an agent tells others about itself. The server never
// connects to Endpoint.
type Profile struct {
	DisplayName      string            `json:"display_name,omitempty" doc:"At most 256 bytes."`
	Endpoint         string            `json:"endpoint,omitempty" doc:"An https URL without user info. The server never connects to it."`            // at most 2 KiB
	Image            string            `json:"image,omitempty" doc:"An https URL without user info, of a picture. The server never connects to it."` // at most 2 KiB
	Capabilities     []string          `json:"capabilities,omitempty" doc:"What the agent can do."`                                                  // at most 64, of 1-128 bytes
	PublicKey        string            `json:"public_key,omitempty" doc:"At most 4 KiB."`
	Labels           map[string]string `json:"labels,omitempty" doc:"At most 16 KiB, keys and values together."`                        // at most 64; keys 1-128 bytes, values at most 4 KiB
	ProtocolVersions []string          `json:"protocol_versions,omitempty" doc:"Versions that the agent speaks, as MAJOR.MINOR.PATCH."` // at most 16
}

// RegisterRequest replaces the whole profile of an agent and registers it if it is not.
type RegisterRequest struct {
	Agent ident.Agent `json:"-" path:"agent" doc:"The agent."`
	Profile
}

// An AgentInfo is a registered agent. Lists and maps are present even if empty.
type AgentInfo struct {
	Agent            ident.Agent       `json:"agent" doc:"The agent."`
	DisplayName      string            `json:"display_name" doc:"At most 256 bytes."`
	Endpoint         string            `json:"endpoint" doc:"An https URL without user info. The server never connects to it."`
	Image            string            `json:"image,omitempty" doc:"An https URL without user info, of a picture; absent if there is none."`
	Capabilities     []string          `json:"capabilities" doc:"What the agent can do."`
	PublicKey        string            `json:"public_key" doc:"At most 4 KiB."`
	Labels           map[string]string `json:"labels" doc:"At most 16 KiB, keys and values together."`
	ProtocolVersions []string          `json:"protocol_versions" doc:"Versions that the agent speaks, as MAJOR.MINOR.PATCH."`
	CreatedAt        Time              `json:"created_at" doc:"When this registration was made."`
	UpdatedAt        Time              `json:"updated_at" doc:"When it was last changed."`
}

// RegisterResponse is an AgentInfo, and whether it is new.
type RegisterResponse struct {
	AgentInfo
	Made
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
	Agents     []AgentInfo  `json:"agents" doc:"The page, in bytewise order of ids."`
	NextCursor *ident.Agent `json:"next_cursor" doc:"The cursor of the next page; null ends the list."`
}

// MintKeyResponse is a new agent key; Key is shown this once.
type MintKeyResponse struct {
	ID        ident.Key `json:"id" doc:"The key's id."`
	Key       string    `json:"key" doc:"The key itself, shown this once."`
	CreatedAt Time      `json:"created_at" doc:"When it was made."`
}

// Status returns 201.
func (r MintKeyResponse) Status() (int, http.Header) { return http.StatusCreated, nil }

// A KeyInfo is what is left of a key to be seen.
type KeyInfo struct {
	ID        ident.Key `json:"id" doc:"The key's id."`
	LastFour  string    `json:"last_four" doc:"The last four characters of the key."`
	CreatedAt Time      `json:"created_at" doc:"When it was made."`
}

// ListKeysResponse lists the live keys of an agent, oldest first.
type ListKeysResponse struct {
	Keys []KeyInfo `json:"keys" doc:"The live keys, oldest first."`
}

// RevokeKeyRequest names a key of an agent.
type RevokeKeyRequest struct {
	Agent ident.Agent `json:"-" path:"agent" doc:"The agent."`
	Key   ident.Key   `json:"-" path:"key" doc:"The key's id."`
}

// WhoAmI says what the credential of the call is.
type WhoAmI struct {
	Credential string       `json:"credential" doc:"What the credential of the call is."` // "api_token" or "agent_key"
	Agent      *ident.Agent `json:"agent" doc:"The agent of an agent key, else null."`
}
