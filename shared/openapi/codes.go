package openapi

import (
	"net/http"
	"reflect"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/route"
)

// Codes returns the codes of the problems that an operation can answer with, in
// the order of api.Codes: its own, and those that follow from its route.
// MethodNotAllowed and NotFound are those of a path and no operation's.
func Codes(r route.Route) []api.Code {
	has := slices.Concat(r.Codes, []api.Code{api.Invalid, api.Internal})
	if r.Access != route.Public { // a credential is looked up in the store
		has = append(has, api.MissingCredential, api.UnknownCredential, api.Forbidden, api.Unavailable, api.StateLost)
	}
	if r.Method != http.MethodGet {
		has = append(has, api.OutcomeUnknown, api.Busy)
	}
	// Any operation may be sent a body; one that takes none refuses it alike.
	has = append(has, api.InvalidJSON, api.UnknownField, api.BodyTooLarge, api.UnsupportedMediaType)
	if route.HasBody(reflect.TypeOf(r.Req)) {
		has = append(has, api.RepeatedField)
	}
	return slices.DeleteFunc(api.Codes(), func(c api.Code) bool { return !slices.Contains(has, c) })
}
