// Package valid checks across fields what the types of api can't: one function a
// request, each returning nil or an *api.Error that names the field. Sizes are
// bytes of UTF-8, which all strings here are, as they came through strictjson.
package valid

import (
	"fmt"
	"slices"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
)

// Send checks a messages.send request. An empty content type is none.
func Send(r *api.SendRequest) error {
	if err := addressed(&r.Heading); err != nil {
		return err
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
	if err := endpoint("/image", r.Image, "https"); err != nil {
		return err
	}
	err := portrait(&api.Card{
		DisplayName: r.DisplayName, Endpoint: r.Endpoint, Capabilities: r.Capabilities, PublicKey: r.PublicKey, Labels: r.Labels,
	}, "https")
	if err != nil {
		return err
	}
	if err := versions("/protocol_versions", r.ProtocolVersions); err != nil {
		return err
	}
	return size("profile", &r.Profile)
}

// portrait checks what profiles and cards have in common.
func portrait(c *api.Card, schemes ...string) error {
	if err := label("/display_name", c.DisplayName, 0, api.MaxDisplayName); err != nil {
		return err
	}
	if err := endpoint("/endpoint", c.Endpoint, schemes...); err != nil {
		return err
	}
	if len(c.Capabilities) > api.MaxCapabilities {
		return api.InvalidField("/capabilities", "%d capabilities; there are at most %d", len(c.Capabilities), api.MaxCapabilities)
	}
	for i, v := range c.Capabilities {
		if err := label(fmt.Sprintf("/capabilities/%d", i), v, 1, api.MaxCapability); err != nil {
			return err
		}
	}
	if len(c.PublicKey) > api.MaxPublicKey {
		return api.InvalidField("/public_key", "%d bytes of UTF-8; a public key has at most %d", len(c.PublicKey), api.MaxPublicKey)
	}
	return pairs("/labels", c.Labels)
}

// size bounds what escapes can make of a profile or a card whose parts are in
// their bounds.
func size(noun string, v any) error {
	b, err := strictjson.Append(nil, v)
	if err != nil {
		return err
	}
	if len(b) > api.MaxProfileBytes {
		return api.InvalidField("", "%d bytes as JSON, escapes included; a %s has at most %d", len(b), noun, api.MaxProfileBytes)
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
	return kind(r.Kind)
}

// Monitor checks a monitor.read request.
func Monitor(r *api.MonitorRequest) error {
	if _, err := Limit(r.Limit); err != nil {
		return err
	}
	if len(r.Agents) > api.MaxAgentFilters {
		return api.InvalidParameter("agent", "%d agents; name %d at most, or none for all there are", len(r.Agents), api.MaxAgentFilters)
	}
	if r.Latest != nil && *r.Latest && r.Cursor+r.LastEventID != "" {
		return api.InvalidParameter("latest", "a cursor says where to begin; leave one of the two out")
	}
	return kind(r.Kind)
}

func kind(k api.Kind) error {
	if k != "" && !slices.Contains(api.Kinds(), k) {
		return api.InvalidParameter("kind", "a kind is one of %s", listed(api.Kinds()))
	}
	return nil
}

// listed names values as people list them.
func listed[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
