package openapi

import (
	"reflect"

	"agentchat/shared/route"
)

// Operation describes a route that is not in the table: what the document has room
// for is tested before an operation needs it.
func Operation(r route.Route) map[string]any {
	return (&schemas{known: object{}, types: map[string]reflect.Type{}}).operation(r)
}
