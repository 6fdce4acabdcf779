// Package contact is what an address book is: the events of
// contacts/{agent}/{generation}, their fold, and the decisions on it. It does no
// I/O; the times are those of the records.
package contact

import (
	"cmp"
	"iter"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// A Book is an address book: contacts in the bytewise order of their ids. It is
// never changed once it is made, and shares with the book that it was made from
// all but a few hundred of its contacts. The zero Book is empty.
type Book struct {
	shelves [][]entry // none is empty, and none has more than maxShelf
	count   int
	bytes   int
}

// maxShelf bounds what a change copies; the list of shelves is copied too, so
// that of 20,000 contacts neither is long.
const maxShelf = 128

// An entry is a contact, and the size of the event that says it.
type entry struct {
	contact *api.Contact
	bytes   int
}

// Get returns a contact. It is everybody's: copy what is to be changed.
func (b *Book) Get(id ident.Agent) (*api.Contact, bool) {
	e, ok := b.entry(id)
	return e.contact, ok
}

// Len returns how many contacts there are.
func (b *Book) Len() int { return b.count }

// Size returns about how many bytes of memory b takes: decoded, a card is several
// times as large as it is in JSON.
func (b *Book) Size() int { return 4 * b.bytes }

// Behind yields the contacts whose ids are behind one ("": all of them), in order,
// each with about its size as JSON.
func (b *Book) Behind(id ident.Agent) iter.Seq2[*api.Contact, int] {
	return func(yield func(*api.Contact, int) bool) {
		i, j, found := b.find(id)
		if found {
			j++
		}
		for ; i < len(b.shelves); i, j = i+1, 0 {
			for _, e := range b.shelves[i][j:] {
				if !yield(e.contact, e.bytes) {
					return
				}
			}
		}
	}
}

func (b *Book) entry(id ident.Agent) (entry, bool) {
	if i, j, found := b.find(id); found {
		return b.shelves[i][j], true
	}
	return entry{}, false
}

// find returns where id stands, or where it would: on a shelf that there is, if
// there is any.
func (b *Book) find(id ident.Agent) (shelf, place int, found bool) {
	shelf, found = slices.BinarySearchFunc(b.shelves, id, func(s []entry, id ident.Agent) int { return cmp.Compare(s[0].contact.ID, id) })
	if !found && shelf > 0 {
		shelf--
	}
	if shelf == len(b.shelves) {
		return shelf, 0, false
	}
	place, found = slices.BinarySearchFunc(b.shelves[shelf], id, func(e entry, id ident.Agent) int { return cmp.Compare(e.contact.ID, id) })
	return shelf, place, found
}

// with returns b with e in the place of the entry of its id.
func (b *Book) with(e entry) *Book {
	if len(b.shelves) == 0 {
		return &Book{shelves: [][]entry{{e}}, count: 1, bytes: e.bytes}
	}
	i, j, found := b.find(e.contact.ID)
	if found {
		shelf := slices.Clone(b.shelves[i])
		shelf[j] = e
		return b.changed(0, e.bytes-b.shelves[i][j].bytes, i, i+1, shelf)
	}
	shelf := slices.Insert(slices.Clip(b.shelves[i]), j, e)
	if half := len(shelf) / 2; len(shelf) > maxShelf {
		return b.changed(1, e.bytes, i, i+1, shelf[:half:half], shelf[half:])
	}
	return b.changed(1, e.bytes, i, i+1, shelf)
}

// without returns b without the contact at a place. Short neighbours are put on
// one shelf, so that there are never many more shelves than contacts need.
func (b *Book) without(i, j int) *Book {
	bytes := -b.shelves[i][j].bytes
	shelf := slices.Delete(slices.Clone(b.shelves[i]), j, j+1)
	switch {
	case len(shelf) == 0:
		return b.changed(-1, bytes, i, i+1)
	case i > 0 && len(b.shelves[i-1])+len(shelf) <= maxShelf/2:
		return b.changed(-1, bytes, i-1, i+1, slices.Concat(b.shelves[i-1], shelf))
	case i+1 < len(b.shelves) && len(shelf)+len(b.shelves[i+1]) <= maxShelf/2:
		return b.changed(-1, bytes, i, i+2, slices.Concat(shelf, b.shelves[i+1]))
	}
	return b.changed(-1, bytes, i, i+1, shelf)
}

// changed returns b with other shelves in the place of [i,j), and so many contacts and bytes more.
func (b *Book) changed(count, bytes, i, j int, shelves ...[]entry) *Book {
	return &Book{shelves: slices.Replace(slices.Clone(b.shelves), i, j, shelves...), count: b.count + count, bytes: b.bytes + bytes}
}
