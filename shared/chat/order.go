package chat

import (
	"cmp"
	"slices"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// A Place is where a record of a transcript stands: it orders records for
// display, and implies nothing about cause (Chat protocol, Directional records).
type Place struct {
	Timestamp stream.Timestamp
	Author    ident.Agent
	Position  uint64
}

// Compare orders places by timestamp, participant id and position.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Timestamp, q.Timestamp), cmp.Compare(p.Author, q.Author), cmp.Compare(p.Position, q.Position))
}

// Included returns the types of records that a transcript is asked to show
// besides messages.
func Included(s string) ([]signed.Type, error) {
	if s == "" {
		return nil, nil
	}
	var types []signed.Type
	for word := range strings.SplitSeq(s, ",") {
		t, ok := map[string]signed.Type{"receipts": signed.TypeReceipt, "fences": signed.TypeFence}[word]
		if !ok || slices.Contains(types, t) {
			return nil, api.InvalidParameter("include", "include is receipts, fences, or both with a comma")
		}
		types = append(types, t)
	}
	return types, nil
}
