package contact

import (
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A Query selects contacts of a book: those that pass every filter.
type Query struct {
	Behind     ident.Agent // "": from the first
	Limit      int
	Capability string
	Labels     map[string]string
}

// Page returns the first contacts that pass, as far as a page holds
// api.MaxPageBytes. It is the last page if it has no NextCursor.
func (b *Book) Page(q Query) *api.ListContactsResponse {
	r := &api.ListContactsResponse{Contacts: []api.Contact{}}
	size := 0
	for c, bytes := range b.Behind(q.Behind) {
		if !q.passes(c) {
			continue
		}
		size += bytes + 8 // which is not less than it takes
		if n := len(r.Contacts); n == q.Limit || n > 0 && size > api.MaxPageBytes {
			r.NextCursor = &r.Contacts[n-1].ID
			break
		}
		r.Contacts = append(r.Contacts, *c)
	}
	return r
}

func (q *Query) passes(c *api.Contact) bool {
	if q.Capability != "" && !slices.Contains(c.Capabilities, q.Capability) {
		return false
	}
	for k, v := range q.Labels {
		if label, ok := c.Labels[k]; !ok || label != v {
			return false
		}
	}
	return true
}
