package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

var quiet = slog.New(slog.DiscardHandler)

// snapFold is nameFold with snapshots.
func snapFold() *journal.Fold[names] {
	f := nameFold()
	f.Format = "names"
	f.Snapshot = func(s names) ([]byte, error) { return json.Marshal(s) }
	f.Restore = func(b []byte) (s names, err error) { return s, json.Unmarshal(b, &s) }
	return f
}

// A listed store is one stream, as a reader may have seen it: it begins at first.
type listed struct {
	stream.Store
	first   uint64
	entries []stream.Entry // from position 0 on
	page    int            // records of a page; 0: as many as are asked for
	reads   *int
}

func (l listed) Read(_ context.Context, _ stream.Name, start stream.Start, limit stream.Limit) (stream.Page, error) {
	if l.reads != nil {
		*l.reads++
	}
	tail := uint64(len(l.entries))
	switch {
	case start.Seq < l.first:
		return stream.Page{}, &stream.TrimmedError{First: l.first}
	case start.Seq > tail:
		return stream.Page{}, &stream.BeyondTailError{Tail: tail}
	}
	page := stream.Page{Tail: tail, Entries: l.entries[start.Seq:]}
	for _, most := range []int{limit.Records, l.page} {
		if most > 0 {
			page.Entries = page.Entries[:min(most, len(page.Entries))]
		}
	}
	return page, nil
}

func (l listed) Tail(context.Context, stream.Name) (stream.Position, error) {
	return stream.Position{Seq: uint64(len(l.entries))}, nil
}

// entriesOf returns the whole of a stream.
func entriesOf(ctx context.Context, s stream.Store, name stream.Name) (all []stream.Entry, err error) {
	for {
		page, err := s.Read(ctx, name, stream.Start{Seq: uint64(len(all))}, stream.Limit{})
		if err != nil {
			return all, err
		}
		all = append(all, page.Entries...)
		if uint64(len(all)) >= page.Tail {
			return all, nil
		}
	}
}

// latest returns the position that the latest complete snapshot of names is of,
// or -1. It is written to be unlike what it is to check.
func latest(entries []stream.Entry) int {
	best := -1
	for at := range entries {
		kind, n := ownKind(entries[at])
		b := struct {
			Format string `json:"format"`
			Of     int    `json:"of"`
			Chunks int    `json:"chunks"`
		}{Of: -1}
		if kind != "snapshot.begin" || json.Unmarshal(entries[at].Body, &b) != nil || b.Format != "names" || b.Chunks < 0 || b.Of > at {
			continue
		}
		var has, want []string
		for _, e := range entries[at+1:] {
			if kind, of := ownKind(e); of == n && kind != "" {
				which, _ := e.Header("agent-chat-chunk")
				has = append(has, kind+which)
			}
		}
		for i := range b.Chunks {
			want = append(want, "snapshot.chunk"+strconv.Itoa(i))
		}
		want = append(want, "snapshot.end")
		if len(has) >= len(want) && slices.Equal(has[:len(want)], want) {
			best = max(best, b.Of)
		}
	}
	return best
}

// ownKind returns the kind of a record of package journal's own, and the nonce of any.
func ownKind(e stream.Entry) (kind, nonce string) {
	kind, _ = e.Header("agent-chat-kind")
	nonce, _ = e.Header("agent-chat-nonce")
	if nonce == "" || kind != "nop" && kind != "snapshot.begin" && kind != "snapshot.chunk" && kind != "snapshot.end" {
		kind = ""
	}
	return kind, nonce
}

// audit returns what is wrong with a stream of names, at any of its positions:
// folds from 0, folds from a snapshot, folds whose beginning was trimmed and
// folds that follow agree, and each update names the latest snapshot before it.
func audit(ctx context.Context, entries []stream.Entry) (snapshots int, err error) {
	plain, snap := nameFold(), snapFold()
	warm := make([]stream.Entry, 0, len(entries))
	follower := &listed{entries: warm}
	following := journal.New(follower, journal.Options{})
	seen := map[int]bool{}
	for n := range len(entries) + 1 {
		page := 1 + n%5
		read := func(what string, j *journal.Journal, f *journal.Fold[names]) names {
			s, readErr := journal.Read(ctx, j, bob, f, 0)
			if readErr != nil && err == nil {
				err = fmt.Errorf("%s, at %d: %w", what, n, readErr)
			}
			return s
		}
		want := read("from 0", journal.New(listed{entries: entries[:n]}, journal.Options{}), plain)
		check := func(what string, j *journal.Journal) {
			if got := read(what, j, snap); err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%s, at %d: %v; want %v", what, n, got, want)
			}
		}
		check("from the snapshot", journal.New(listed{entries: entries[:n], page: page}, journal.Options{}))
		follower.entries = entries[:n]
		check("following", following)
		at := latest(entries[:n])
		if at >= 0 {
			seen[at] = true
			check("trimmed", journal.New(listed{entries: entries[:n], first: uint64(at), page: page}, journal.Options{}))
		}
		if err != nil || n == len(entries) {
			break
		}
		named, isNamed := entries[n].Header("agent-chat-snapshot")
		kind, nonce := ownKind(entries[n])
		if kind == "" && nonce != "" && (isNamed != (at >= 0) || isNamed && named != strconv.Itoa(at)) {
			return len(seen), fmt.Errorf("the record at %d names %q as the latest snapshot; want %d", n, named, at)
		}
	}
	return len(seen), err
}
