package openapi

import (
	"reflect"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/route"
)

// own is which codes an operation has besides those that follow from its route.
func own() map[string][]api.Code {
	write := []api.Code{api.OutcomeUnknown, api.Busy, api.StateLost}
	return map[string][]api.Code{
		"agents.delete":     append(write, api.AgentNotRegistered),
		"agents.get":        {api.AgentNotRegistered, api.StateLost},
		"agents.list":       {api.StateLost},
		"agents.list_keys":  {api.AgentNotRegistered, api.StateLost},
		"agents.mint_key":   append(write, api.AgentNotRegistered),
		"agents.register":   write,
		"agents.revoke_key": append(write, api.AgentNotRegistered, api.KeyNotFound),
		"inbox.read":        {api.AgentNotRegistered, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail, api.StateLost},
		"messages.get": {
			api.AgentNotRegistered, api.MessageNotFound, api.AmbiguousMessageID, api.GenerationChanged, api.HistoryTrimmed, api.CursorBeyondTail,
			api.SearchIncomplete, api.StateLost,
		},
		"messages.send": append(write, api.AgentNotRegistered, api.RecipientNotFound, api.IDReused, api.HistoryTrimmed, api.RecordTooLarge),
		"service.ready": {api.Unavailable},
	}
}

// Codes returns the codes of the problems that an operation can answer with, in
// the order of api.Codes. MethodNotAllowed and NotFound are those of a path and
// no operation's.
func Codes(r route.Route) []api.Code {
	has := append([]api.Code{api.Invalid, api.Internal}, own()[r.Op]...)
	if r.Access != route.Public {
		has = append(has, api.MissingCredential, api.UnknownCredential, api.Forbidden, api.Unavailable)
	}
	// Any operation may be sent a body; one that takes none refuses it alike.
	has = append(has, api.InvalidJSON, api.UnknownField, api.BodyTooLarge, api.UnsupportedMediaType)
	if route.HasBody(reflect.TypeOf(r.Req)) {
		has = append(has, api.RepeatedField)
	}
	return slices.DeleteFunc(api.Codes(), func(c api.Code) bool { return !slices.Contains(has, c) })
}
