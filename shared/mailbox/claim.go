package mailbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// The records of a claim's stream. The first readable claim holds the id; the
// others say how far its message has come, and may be missing.
const (
	claimSchema = "agent-chat/send.v1"
	kindClaim   = "send.claim"
	kindStored  = "send.stored" // the message stands at Seq
	kindAbsent  = "send.absent" // the message does not stand before Seq
)

// A claimRecord is the body of any of them.
type claimRecord struct {
	Schema string      `json:"schema"`
	Kind   string      `json:"kind"`
	Nonce  string      `json:"nonce,omitempty"`
	Digest string      `json:"digest,omitempty"`
	To     ident.Agent `json:"to,omitempty"`
	Epoch  string      `json:"epoch,omitempty"`
	Start  uint64      `json:"start,omitempty"` // no attempt can stand before it
	Seq    uint64      `json:"seq,omitempty"`
}

func (r claimRecord) record() (stream.Record, error) {
	r.Schema = claimSchema
	body, err := json.Marshal(r)
	return stream.Record{Headers: []stream.Header{
		{Name: headerContentType, Value: contentType}, {Name: headerSchema, Value: claimSchema}, {Name: headerKind, Value: r.Kind},
	}, Body: body}, err
}

// A claim is what the stream of an id says.
type claim struct {
	claimRecord
	stored *uint64
	absent uint64 // the message does not stand before it
	next   uint64 // the stream's tail
}

// readClaim returns the claim of a stream, or nil if there is none, and the stream's tail.
// A claim goes with its retention; what stands before the first readable one is void.
func (m *Mailbox) readClaim(ctx context.Context, name stream.Name) (c *claim, tail uint64, err error) {
	var pauses journal.Pauses
	from := uint64(0)
	for {
		page, err := m.store.Read(ctx, name, stream.Start{Seq: from}, stream.Limit{})
		trimmed, isTrimmed := errors.AsType[*stream.TrimmedError](err)
		switch {
		case errors.Is(err, stream.ErrNotFound):
			return nil, 0, nil
		case isTrimmed:
			c, from = nil, trimmed.First
			continue
		case err != nil && (!retryable(err) || pauses.Wait(ctx) != nil):
			return nil, 0, fmt.Errorf("read %s: %w", name, err)
		case err != nil:
			continue
		}
		for _, e := range page.Entries {
			c = c.with(e)
		}
		if from = page.Next(from); from >= page.Tail {
			if c != nil {
				c.next = from
			}
			return c, from, nil
		}
	}
}

// with returns c after e.
func (c *claim) with(e stream.Entry) *claim {
	var r claimRecord
	if err := json.Unmarshal(e.Body, &r); err != nil || r.Schema != claimSchema {
		return c
	}
	switch {
	case r.Kind == kindClaim && c == nil:
		return &claim{claimRecord: r, absent: r.Start}
	case r.Kind == kindStored && c != nil && c.stored == nil:
		c.stored = &r.Seq
	case r.Kind == kindAbsent && c != nil:
		c.absent = max(c.absent, r.Seq)
	}
	return c
}

// claim claims the id for this request. It returns the claim that holds, and
// whether it is this one. On an error nobody knows who holds it.
func (s *claiming) claim(ctx context.Context, epoch string, start uint64) (c *claim, won bool, err error) {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(s.m.o.Rand, nonce); err != nil {
		panic("mailbox: no randomness: " + err.Error())
	}
	mine := claimRecord{Kind: kindClaim, Nonce: hex.EncodeToString(nonce), Digest: s.digest, To: s.l.to, Epoch: epoch, Start: start}
	rec, err := mine.record()
	if err != nil {
		return nil, false, err
	}
	var pauses journal.Pauses
	for at := uint64(0); ; {
		ack, err := s.m.store.Append(ctx, s.name, stream.Batch{Records: []stream.Record{rec}, At: &at})
		switch {
		case err == nil:
			return &claim{claimRecord: mine, absent: start, next: ack.Next}, true, nil
		case errors.Is(err, stream.ErrPosition):
			held, tail, err := s.m.readClaim(ctx, s.name)
			if err != nil {
				return nil, false, err
			}
			if held != nil {
				return held, held.Nonce == mine.Nonce, nil
			}
			at = tail // whatever claimed the id has expired
		case errors.Is(err, stream.ErrInvalid):
			return nil, false, err
		default:
			if pauses.Wait(ctx) != nil {
				return nil, false, err
			}
		}
	}
}

// awaitStored waits for another process to note where the message stands, for
// 2 s at most, and reports whether c says so now.
func (s *claiming) awaitStored(ctx context.Context, c *claim) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for page, err := range s.m.store.Follow(ctx, s.name, c.next, 10*time.Second) {
		if err != nil {
			return false
		}
		for _, e := range page.Entries {
			c.with(e)
			c.next = e.Seq + 1
		}
		if c.stored != nil {
			return true
		}
	}
	return false
}

// note adds a record to the claim's stream. Its loss is harmless: the next
// repeat finds out again.
func (s *claiming) note(ctx context.Context, c *claim, r claimRecord) {
	rec, err := r.record()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = s.m.store.Append(ctx, s.name, stream.Batch{Records: []stream.Record{rec}, At: &c.next})
}

// noteStored notes where the message stands: after the answer on a host that
// lives on; else a repeat does it (the claim's winner leaves it to the next one).
func (s *claiming) noteStored(ctx context.Context, c *claim, won bool, seq uint64) {
	if c.stored != nil {
		return
	}
	r := claimRecord{Kind: kindStored, Seq: seq}
	if !s.m.o.Late {
		if !won {
			s.note(ctx, c, r)
		}
		return
	}
	select {
	case s.m.slots <- struct{}{}:
		s.m.late.Go(func() {
			defer func() { <-s.m.slots }()
			s.note(ctx, c, r)
		})
	default: // too many at once: a repeat finds out
	}
}
