package service

import (
	"context"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/stream"
)

func (h *handler) limits(context.Context, auth.Caller, *struct{}) (*api.Limits, error) {
	return &api.Limits{
		BodyBytes:          api.MaxBodyBytes,
		TextBytes:          api.MaxTextBytes,
		DataBytes:          api.MaxDataBytes,
		RecordBytes:        stream.MaxBatchBytes,
		JSONDepth:          api.MaxJSONDepth,
		MapEntries:         api.MaxMapEntries,
		MapKeyBytes:        api.MaxMapKeyBytes,
		MapValueBytes:      api.MaxMapValueBytes,
		MapBytes:           api.MaxMapBytes,
		ContentTypeBytes:   api.MaxContentType,
		DisplayNameBytes:   api.MaxDisplayName,
		EndpointBytes:      api.MaxEndpoint,
		Capabilities:       api.MaxCapabilities,
		CapabilityBytes:    api.MaxCapability,
		PublicKeyBytes:     api.MaxPublicKey,
		ProtocolVersions:   api.MaxVersions,
		ProfileBytes:       api.MaxProfileBytes,
		AgentIDBytes:       api.MaxAgentID,
		MessageIDBytes:     api.MaxMessageID,
		ConversationBytes:  api.MaxConversation,
		CorrelationBytes:   api.MaxCorrelation,
		PageItems:          api.MaxPageItems,
		DefaultPageItems:   api.DefaultPageItems,
		PageBytes:          api.MaxPageBytes,
		WaitSeconds:        api.MaxWaitSeconds,
		HeartbeatSeconds:   api.HeartbeatSeconds,
		StreamMaxAge:       int(h.Config.StreamMaxAge / time.Second),
		SearchRecords:      api.MaxSearchRecords,
		AgentFilters:       api.MaxAgentFilters,
		KeysPerAgent:       api.MaxKeys,
		ChatAppendBytes:    api.MaxChatAppend,
		ChatRepeats:        api.ChatRepeats,
		IDKeptDays:         api.IDKeptDays,
		ReceiptDetailBytes: api.MaxDetailBytes,
		Contacts:           api.MaxContacts,
		ContactsBytes:      api.MaxContactsBytes,
		InboxRetentionDays: int(h.Config.Retention / (24 * time.Hour)),
	}, nil
}
