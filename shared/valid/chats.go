package valid

import (
	"slices"
	"strings"

	"agentchat/shared/api"
)

// CreateChat checks a chats.create request.
func CreateChat(r *api.CreateChatRequest) error {
	switch r.PeerID {
	case "":
		return api.InvalidField("/peer_id", "the peer is missing; name a registered agent")
	case r.AgentID:
		return api.InvalidField("/peer_id", "a chat is between two agents")
	}
	return nil
}

// Claim checks a chats.claim request.
func Claim(r *api.ClaimRequest) error {
	if r.ReviewedOwner.Set && !r.ReviewedTail.Set {
		return api.InvalidField("/reviewed_tail", "the tail that was reviewed is missing; it may be so only if there was no owner")
	}
	return nil
}

// ChatMessage checks a chats.send request.
func ChatMessage(r *api.ChatMessageRequest) error {
	switch {
	case r.Token == "":
		return missing("/token", "a claim gives it")
	case r.ExpectedPosition == nil:
		return missing("/expected_position", "it is the tail of the direction")
	case r.MessageID == "":
		return missing("/message_id", "it makes a repeat of the request harmless")
	case r.Content == nil:
		return missing("/content", "it may be empty")
	case r.Ack != nil:
		return acknowledgement("/ack", r.Ack)
	}
	return nil
}

// ChatReceipt checks a chats.acknowledge request.
func ChatReceipt(r *api.ChatReceiptRequest) error {
	switch {
	case r.Token == "":
		return missing("/token", "a claim gives it")
	case r.ExpectedPosition == nil:
		return missing("/expected_position", "it is the tail of the direction")
	}
	return acknowledgement("", &r.Acknowledgement)
}

func acknowledgement(pointer string, a *api.Acknowledgement) error {
	const of = "it is that of the presented batch"
	switch {
	case a.PeerStreamID == "":
		return missing(pointer+"/peerStreamId", of)
	case a.PeerGeneration == "":
		return missing(pointer+"/peerGeneration", of)
	case a.NextPosition == nil:
		return missing(pointer+"/nextPosition", of)
	case a.BatchID == "":
		return missing(pointer+"/batchId", of)
	}
	return nil
}

func missing(pointer, why string) error {
	return api.InvalidField(pointer, "%s is missing; %s", pointer[strings.LastIndexByte(pointer, '/')+1:], why)
}

// Operation checks a chats.operation request.
func Operation(r *api.OperationRequest) error {
	if r.ExpectedPosition == nil {
		return api.InvalidParameter("expected_position", "expected_position is missing; it is where the operation was to stand")
	}
	return nil
}

// Permissions checks a chats.permit request.
func Permissions(r *api.PermissionsRequest) error {
	switch {
	case r.State == "" && r.PIIPolicy == "":
		return api.InvalidField("/state", "there is neither state nor pii_policy")
	case r.State != "" && r.State != api.Allowed && r.State != api.Denied:
		return api.InvalidField("/state", "a state is set to %s or %s", api.Allowed, api.Denied)
	case r.PIIPolicy != "" && !slices.Contains(api.PIIPolicies(), r.PIIPolicy):
		return api.InvalidField("/pii_policy", "a policy is one of %s", listed(api.PIIPolicies()))
	}
	return nil
}
