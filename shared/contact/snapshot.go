package contact

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/strictjson"
)

// Format is that of snapshots.
const Format = "agent-chat/contacts.v1"

// A saved is an entry in a snapshot.
type saved struct {
	Contact *api.Contact `json:"contact"`
	Bytes   int          `json:"bytes"`
}

// Snapshot returns b for Restore.
func (b *Book) Snapshot() ([]byte, error) {
	all := make([]saved, 0, b.count)
	for c, bytes := range b.Behind("") {
		all = append(all, saved{c, bytes})
	}
	return strictjson.Append(nil, all)
}

// Restore returns the book of a snapshot, and refuses what can't be one.
func Restore(data []byte) (*Book, error) {
	var all []saved
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	b := &Book{count: len(all)}
	for part := range slices.Chunk(all, maxShelf/2) {
		shelf := make([]entry, len(part))
		for i, s := range part {
			shelf[i] = entry{s.Contact, s.Bytes}
			b.bytes += s.Bytes
		}
		b.shelves = append(b.shelves, shelf)
	}
	last := ""
	for _, s := range all {
		if s.Contact == nil || string(s.Contact.ID) <= last || s.Bytes <= 0 {
			return nil, errors.New("contacts that are not in the order of their ids")
		}
		last = string(s.Contact.ID)
	}
	return b, nil
}
