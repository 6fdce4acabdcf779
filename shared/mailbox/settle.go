package mailbox

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// An epoch is "" (the inbox was never fenced), or "closed:" and 22 random
// characters, or the generation that the inbox was opened for, a dot, and 16
// random characters. The generation is empty while the inbox is as it was
// created. An epoch never comes again.
const closedEpoch = "closed:"

func isClosed(epoch string) bool { return strings.HasPrefix(epoch, closedEpoch) }

// openedFor returns the generation that an inbox under epoch was opened for.
func openedFor(epoch string) ident.Generation {
	g, _, _ := strings.Cut(epoch, ".")
	return ident.Generation(g)
}

func (m *Mailbox) openEpoch(g ident.Generation) string { return string(g) + "." + m.random(12) }

func (m *Mailbox) random(n int) string {
	b := make([]byte, n)
	if _, err := io.ReadFull(m.o.Rand, b); err != nil {
		panic("mailbox: no randomness: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// settle stores the letter exactly once although earlier attempts under epoch, or
// under any before it, may have done so or may still be on their way. from is a
// position that none of them can be before. It returns where the letter stands,
// and whether this call put it there.
//
// On an error, absent is a position that the letter is known not to stand
// before; the error is noRecipient's or refused's, which are final, or the outcome is unknown.
func (m *Mailbox) settle(ctx context.Context, l *letter, epoch string, from uint64) (at *stream.Entry, placed bool, absent uint64, err error) {
	at, from, err = m.scan(ctx, l, from)
	if at != nil || err != nil {
		return at, false, from, err
	}
	if epoch, err = m.kill(ctx, l, epoch); err != nil {
		return nil, false, from, err
	}
	var pauses journal.Pauses
	for {
		at, from, err = m.scan(ctx, l, from)
		if at != nil || err != nil {
			return at, false, from, err
		}
		if isClosed(epoch) {
			return nil, false, from, l.noRecipient()
		}
		// All of [.., from) was read after every earlier attempt had become
		// impossible, but for those that are bound to a position, and at most one
		// record gets this one. So the same append may be sent as often as needed.
		for tail := from; ; {
			ack, err := m.append(ctx, l, epoch, &tail)
			if err == nil {
				return &stream.Entry{Seq: ack.First, Timestamp: ack.Timestamp, Record: l.record}, true, from, nil
			}
			if actual, fenced := fencedBy(err); fenced {
				epoch = actual
				break
			}
			if errors.Is(err, stream.ErrPosition) {
				break
			}
			if isDefinite(err) && !errors.Is(err, stream.ErrUnavailable) {
				return nil, false, from, err
			}
			if pauses.Wait(ctx) != nil {
				return nil, false, from, err
			}
		}
	}
}

// kill moves the inbox off epoch, so that no append under it can land any more,
// and returns the epoch that there is then. It is repeated until the store says
// that it is so; an error means that the epoch may still be alive.
func (m *Mailbox) kill(ctx context.Context, l *letter, epoch string) (actual string, err error) {
	if isClosed(epoch) { // nothing is appended under it but what opens the inbox
		return m.probe(ctx, l.inbox)
	}
	next := m.openEpoch(openedFor(epoch))
	var pauses journal.Pauses
	for {
		ack, err := m.store.Append(ctx, l.inbox, stream.Batch{Records: []stream.Record{stream.Fence(next)}, Token: &epoch})
		if err == nil {
			m.saw(l.to, next, ack.Next)
			return next, nil
		}
		if actual, fenced := fencedBy(err); fenced {
			m.saw(l.to, actual, 0)
			return actual, nil
		}
		if isDefinite(err) && !errors.Is(err, stream.ErrUnavailable) {
			return "", l.refused(err)
		}
		if pauses.Wait(ctx) != nil {
			return "", err
		}
	}
}

// scan looks for the letter from a position up to the tail. It returns the entry,
// or how far it looked: with a nil error up to the tail of a moment during the call.
func (m *Mailbox) scan(ctx context.Context, l *letter, from uint64) (found *stream.Entry, next uint64, err error) {
	var pauses journal.Pauses
	for {
		page, err := m.store.Read(ctx, l.inbox, stream.Start{Seq: from}, stream.Limit{})
		if errors.Is(err, stream.ErrNotFound) {
			return nil, from, l.refused(err)
		}
		if err != nil && (!retryable(err) || pauses.Wait(ctx) != nil) {
			return nil, from, fmt.Errorf("look for %s in %s from %d: %w", l.id, l.inbox, from, err)
		}
		for _, e := range page.Entries {
			if e.Seq != from {
				return nil, from, damaged(l.inbox, stream.Misplaced(e.Seq, from))
			}
			if l.is(e) {
				return &e, from, nil
			}
			from++
		}
		if err == nil && from >= page.Tail {
			return nil, from, nil
		}
	}
}

// probe returns the epoch of an inbox: no inbox ever has the token "?", so that
// the store always refuses, and names the one that there is.
func (m *Mailbox) probe(ctx context.Context, inbox stream.Name) (epoch string, err error) {
	var pauses journal.Pauses
	wrong := "?"
	for {
		_, err := m.store.Append(ctx, inbox, stream.Batch{Records: []stream.Record{{}}, Token: &wrong})
		if actual, fenced := fencedBy(err); fenced {
			return actual, nil
		}
		if err == nil {
			return "", damaged(inbox, errors.New("the token is \"?\""))
		}
		if errors.Is(err, stream.ErrNotFound) || errors.Is(err, stream.ErrInvalid) || pauses.Wait(ctx) != nil {
			return "", err
		}
	}
}

// around returns the position of the first record that is not older than t
// less a margin for clocks that differ, or the tail.
func (m *Mailbox) around(ctx context.Context, inbox stream.Name, t time.Time) (uint64, error) {
	const margin = 10 * time.Minute
	start := stream.Timestamp(max(1, t.Add(-margin).UnixMilli())) // positive
	page, err := m.store.Read(ctx, inbox, stream.Start{Time: start}, stream.Limit{Records: 1})
	if err != nil || len(page.Entries) == 0 {
		return page.Tail, err
	}
	return page.Entries[0].Seq, nil
}
