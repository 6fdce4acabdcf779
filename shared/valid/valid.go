// Package valid checks across fields what the types of api can't: one function a
// request, each returning nil or an *api.Error that names the field. Sizes are
// bytes of UTF-8, which all strings here are, as they came through strictjson.
package valid

import (
	"fmt"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
)

// Send checks a messages.send request. An empty content type is none.
func Send(r *api.SendRequest) error {
	if r.To == "" {
		return api.InvalidField("/to", "the recipient is missing; name a registered agent")
	}
	if r.ID != "" && r.IdempotencyKey != "" && r.ID != r.IdempotencyKey {
		return api.InvalidParameter("Idempotency-Key", "the header and the member id differ; send one of them, or the same in both")
	}
	if r.Text == nil && len(r.Data) == 0 {
		return api.InvalidField("/text", "there is neither text nor data; a message has at least one of them")
	}
	if r.Text != nil && len(*r.Text) > api.MaxTextBytes {
		return api.InvalidField("/text", "%d bytes of UTF-8; a text has at most %d", len(*r.Text), api.MaxTextBytes)
	}
	if len(r.Data) > api.MaxDataBytes {
		return api.InvalidField("/data", "%d bytes of compacted JSON; data has at most %d", len(r.Data), api.MaxDataBytes)
	}
	if err := mediaType("/content_type", r.ContentType); err != nil {
		return err
	}
	return pairs("/metadata", r.Metadata)
}

// Register checks an agents.register request. Empty strings are no strings.
func Register(r *api.RegisterRequest) error {
	if err := label("/display_name", r.DisplayName, 0, api.MaxDisplayName); err != nil {
		return err
	}
	if err := endpoint("/endpoint", r.Endpoint, "https"); err != nil {
		return err
	}
	if len(r.Capabilities) > api.MaxCapabilities {
		return api.InvalidField("/capabilities", "%d capabilities; there are at most %d", len(r.Capabilities), api.MaxCapabilities)
	}
	for i, c := range r.Capabilities {
		if err := label(fmt.Sprintf("/capabilities/%d", i), c, 1, api.MaxCapability); err != nil {
			return err
		}
	}
	if len(r.PublicKey) > api.MaxPublicKey {
		return api.InvalidField("/public_key", "%d bytes of UTF-8; a public key has at most %d", len(r.PublicKey), api.MaxPublicKey)
	}
	if err := pairs("/labels", r.Labels); err != nil {
		return err
	}
	if err := versions("/protocol_versions", r.ProtocolVersions); err != nil {
		return err
	}
	return profileSize(&r.Profile)
}

// profileSize bounds what escapes can make of a profile whose parts are in
// their bounds.
func profileSize(p *api.Profile) error {
	b, err := strictjson.Append(nil, p)
	if err != nil {
		return err
	}
	if len(b) > api.MaxProfileBytes {
		return api.InvalidField("", "%d bytes as JSON, escapes included; a profile has at most %d", len(b), api.MaxProfileBytes)
	}
	return nil
}

// Limit returns the page size asked for, or the default; an error if it is not 1-1000.
func Limit(l *int) (int, error) {
	if l == nil {
		return api.DefaultPageItems, nil
	}
	if *l < 1 || *l > api.MaxPageItems {
		return 0, api.InvalidParameter("limit", "a limit is 1 to %d", api.MaxPageItems)
	}
	return *l, nil
}

// Inbox checks an inbox.read request.
func Inbox(r *api.InboxRequest) error {
	if _, err := Limit(r.Limit); err != nil {
		return err
	}
	if r.Wait != nil && (*r.Wait < 0 || *r.Wait > api.MaxWaitSeconds) {
		return api.InvalidParameter("wait", "a wait is 0 to %d seconds", api.MaxWaitSeconds)
	}
	if r.Kind != "" && !slices.Contains(api.Kinds(), r.Kind) {
		return api.InvalidParameter("kind", "a kind is one of %v", api.Kinds())
	}
	return nil
}
