package addressbook

import (
	"context"
	"errors"
	"fmt"

	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

// maxReads is how many pages of the store one page of a history may cost: a page
// that found nothing on them is answered, and its cursor moves on.
const maxReads = 10

// History returns a page of what happened to a contact, oldest first: at most
// limit events from the request's cursor on, which is a position, as far as a page holds
// api.MaxPageBytes. A contact that never was has an empty history.
func (b *Books) History(ctx context.Context, r *api.ContactHistoryRequest, limit int) (*api.ContactHistoryResponse, error) {
	name, err := b.name(ctx, r.Agent)
	if err != nil {
		return nil, err
	}
	h := &historian{r: r, limit: limit, next: r.Cursor, page: &api.ContactHistoryResponse{Events: []api.ContactEvent{}}}
	for range maxReads {
		p, err := b.store.Read(ctx, name, stream.Start{Seq: h.next}, stream.Limit{})
		if errors.Is(err, stream.ErrNotFound) {
			p, err = stream.Page{}, nil // nothing was ever saved
			if h.next > 0 {
				err = &stream.BeyondTailError{}
			}
		}
		if err != nil {
			return nil, refusal(name, err)
		}
		full, err := h.take(p.Entries)
		if err != nil {
			return nil, damaged(name, err)
		}
		if h.next >= p.Tail {
			return h.page, nil
		}
		if full {
			break
		}
	}
	h.page.NextCursor = &h.next
	return h.page, nil
}

// A historian fills a page.
type historian struct {
	r     *api.ContactHistoryRequest
	limit int
	next  uint64
	page  *api.ContactHistoryResponse
	size  int
}

// take adds what entries hold, which must follow on what it has, and reports
// whether the page is full.
func (h *historian) take(entries []stream.Entry) (full bool, err error) {
	for _, e := range entries {
		if e.Seq != h.next {
			return false, stream.Misplaced(e.Seq, h.next)
		}
		ev, ok, err := contact.History(e, h.r.Contact)
		if err != nil {
			return false, err
		}
		if ok {
			b, err := strictjson.Append(nil, &ev)
			if err != nil {
				return false, err
			}
			if h.size += len(b) + 1; h.size > api.MaxPageBytes && len(h.page.Events) > 0 {
				return true, nil
			}
			h.page.Events = append(h.page.Events, ev)
		}
		h.next++
		if len(h.page.Events) == h.limit {
			return true, nil
		}
	}
	return false, nil
}

// refusal is the error for a read of a book that failed.
func refusal(name stream.Name, err error) error {
	if beyond, ok := errors.AsType[*stream.BeyondTailError](err); ok {
		e := api.Errorf(api.CursorBeyondTail, "the history ends at %d", beyond.Tail)
		e.Tail = &api.Tail{At: beyond.Tail}
		return e.Because(err)
	}
	if errors.Is(err, stream.ErrTrimmed) || errors.Is(err, stream.ErrCorrupt) {
		return damaged(name, err)
	}
	return journal.Unavailable(fmt.Errorf("read %s: %w", name, err))
}

func damaged(name stream.Name, cause error) error {
	return api.Errorf(api.StateLost, "the address book is not what was written to it; an operator must look").
		Because(fmt.Errorf("%s: %w", name, cause))
}
