package signed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// The reasons that concern a record's place in a transcript.
const (
	OutOfOrder        Reason = "out_of_order"       // a position, or a time of the store, that is not behind the one before
	Gap               Reason = "gap"                // positions are missing
	AnotherStream     Reason = "another_stream"     // not of the chat, the generation or the two parties of the others
	RepeatedSignature Reason = "repeated_signature" // one act of signing at two positions
	SplitOperation    Reason = "split_operation"    // the records of one operation do not stand together, or stand twice
	ReceiptRange      Reason = "receipt_range"      // acknowledges what the peer did not write, or less than before
	Ownership         Reason = "ownership"          // a fence that does not follow the one before it
)

// An Entry is a record of a transcript, where it stands.
type Entry struct {
	StreamID   string
	Generation ident.Generation
	Position   api.Position
	Timestamp  api.Time
	Record     []byte // as it is stored; escapes and white space between tokens may differ
}

// A Transcript checks what both directions of one chat hold, entry by entry, with
// public keys alone: each record by itself as Open does, and that they fit
// together. NewTranscript makes one; it is not for concurrent use.
type Transcript struct {
	keys       *Set
	partial    bool
	chat       ident.Chat
	directions map[string]*direction // by stream id: two at most
	nonces     map[string]string     // where each act of signing stands
	operations map[ident.Operation]bool
	Counts     map[Type]int // of the records that are right by themselves
}

// A direction is what was seen of one.
type direction struct {
	author, peer ident.Agent
	generation   ident.Generation
	next         uint64   // behind the last record
	last         api.Time // of the last record
	broken       bool     // the last record could not be opened
	operation    ident.Operation
	index        int
	owner        ident.Owner
	owned        bool     // a fence was seen
	receipt      *Receipt // the last one
}

// NewTranscript returns one that knows no entry yet. With partial it need not be
// whole: it may begin anywhere and positions may be missing, as when messages
// alone were read.
func NewTranscript(keys *Set, partial bool) *Transcript {
	return &Transcript{
		keys: keys, partial: partial, directions: map[string]*direction{}, nonces: map[string]string{},
		operations: map[ident.Operation]bool{}, Counts: map[Type]int{},
	}
}

// Add checks the next entry, and returns every fault of it. Those of one
// direction come in the order of their positions.
func (t *Transcript) Add(e Entry) []*Fault {
	d, f := t.direction(e)
	if f != nil {
		return []*Fault{f}
	}
	r, f := t.open(e, d)
	if f != nil { // its position is taken all the same
		d.broken = true
		return append([]*Fault{f}, t.place(d, e, nil)...)
	}
	t.Counts[r.Type()]++
	faults := t.place(d, e, r)
	if r.Message != nil {
		nonce := r.Message.Nonce()
		if there, twice := t.nonces[nonce]; twice {
			faults = append(faults, faultf(RepeatedSignature, "the signature stands at %s too", there))
		}
		t.nonces[nonce] = fmt.Sprintf("%s %d", e.StreamID, e.Position)
	}
	if f := t.operation(d, r); f != nil {
		faults = append(faults, f)
	}
	if f := d.follow(r, e); f != nil {
		faults = append(faults, f)
	}
	return faults
}

// direction returns the one that e says it is in, of the two of one chat.
func (t *Transcript) direction(e Entry) (*direction, *Fault) {
	c, a, _ := strings.Cut(strings.TrimPrefix(e.StreamID, "chats/"), "/")
	chat, errC := ident.ParseChat(c)
	author, errA := ident.ParseAgent(a)
	if errC != nil || errA != nil || e.StreamID != StreamID(chat, author) {
		return nil, faultf(AnotherStream, "streamId is not that of a direction of a chat")
	}
	d := t.directions[e.StreamID]
	switch {
	case t.chat != "" && t.chat != chat:
		return nil, faultf(AnotherStream, "the transcript is of %s", t.chat)
	case d == nil && len(t.directions) == 2:
		return nil, faultf(AnotherStream, "a third direction")
	case d == nil:
		d = &direction{author: author, generation: e.Generation}
		if e.Position > 0 {
			d.next = 1 // a transcript may leave out the genesis
		}
		t.chat, t.directions[e.StreamID] = chat, d
	case e.Generation != d.generation:
		return nil, faultf(AnotherStream, "generation %s, after %s", e.Generation, d.generation)
	}
	return d, nil
}

// open returns the record of e, which must be one of d, between the two parties.
func (t *Transcript) open(e Entry, d *direction) (*Record, *Fault) {
	body, err := plain(e.Record)
	if err != nil {
		return nil, faultf(Malformed, "the record is not JSON")
	}
	r, err := Open(t.keys, body, e.Timestamp.Time)
	if f, ok := errors.AsType[*Fault](err); ok {
		return nil, f
	}
	if StreamID(r.ChatID, r.AuthorAgentID) != e.StreamID {
		return nil, faultf(AnotherStream, "the record is of %s", StreamID(r.ChatID, r.AuthorAgentID))
	}
	if d.peer == "" {
		d.peer = r.peer()
	}
	peer := d.peer
	for _, other := range t.directions {
		if other != d {
			peer = other.author
		}
	}
	if p := r.peer(); p != "" && p != peer {
		return nil, faultf(AnotherStream, "the record is for %s; the other party is %s", p, peer)
	}
	return r, nil
}

// peer returns whom r says that the other party is; "" if it does not.
func (r *Record) peer() ident.Agent {
	switch {
	case r.Message != nil:
		return r.Message.ToAgentID
	case r.Genesis != nil:
		return r.Genesis.PeerAgentID
	case r.Receipt != nil:
		return ident.Agent(strings.TrimPrefix(r.Receipt.PeerStreamID, StreamID(r.ChatID, "")))
	}
	return ""
}

// place checks the position and the time of e; r is nil if it could not be opened.
func (t *Transcript) place(d *direction, e Entry, r *Record) (faults []*Fault) {
	p := uint64(e.Position)
	before := p // the first position that the entry accounts for
	if p > d.next && (r == nil || r.Fence != nil && uint64(r.Fence.ReviewedTail) == p-1) {
		before = p - 1 // the command that fences stands in front, and is not shown
	}
	switch {
	case p == math.MaxUint64:
		return append(faults, faultf(OutOfOrder, "no record stands at position %d", p))
	case p < d.next:
		faults = append(faults, faultf(OutOfOrder, "position %d is at or before one that came already", p))
	case before > d.next && !t.partial:
		faults = append(faults, faultf(Gap, "the positions %d up to %d are missing", d.next, before-1))
	}
	d.next = max(d.next, p+1)
	if e.Timestamp.Before(d.last.Time) {
		faults = append(faults, faultf(OutOfOrder, "stored at %s, before the record in front of it", stamp(e.Timestamp.Time)))
	}
	d.last = e.Timestamp
	return faults
}

// operation checks that the records of one stand together, from 0 on.
func (t *Transcript) operation(d *direction, r *Record) (f *Fault) {
	switch {
	case r.RecordIndex > 0 && !t.partial && !d.broken && (d.operation != r.OperationID || d.index != r.RecordIndex-1):
		f = faultf(SplitOperation, "record %d of an operation does not stand behind record %d of it", r.RecordIndex, r.RecordIndex-1)
	case r.RecordIndex == 0 && t.operations[r.OperationID]:
		f = faultf(SplitOperation, "the operation stands there twice")
	}
	d.operation, d.index, d.broken = r.OperationID, r.RecordIndex, false
	t.operations[r.OperationID] = true
	return f
}

// follow checks a genesis, a fence or a receipt against what came before it.
func (d *direction) follow(r *Record, e Entry) *Fault {
	switch {
	case r.Genesis != nil && (e.Position != 0 || r.Genesis.Generation != d.generation):
		return faultf(AnotherStream, "a genesis of generation %s at %d", r.Genesis.Generation, e.Position)
	case r.Fence != nil:
		return d.claimed(r.Fence, e)
	case r.Receipt != nil:
		before := d.receipt
		d.receipt = r.Receipt
		switch {
		case before != nil && r.Receipt.NextPosition < before.NextPosition:
			return faultf(ReceiptRange, "up to %d, after a receipt up to %d", r.Receipt.NextPosition, before.NextPosition)
		case before != nil && r.Receipt.PeerGeneration != before.PeerGeneration:
			return faultf(ReceiptRange, "of generation %s, after a receipt of %s", r.Receipt.PeerGeneration, before.PeerGeneration)
		}
	}
	return nil
}

// claimed checks that a fence replaces the owner that there was, where it says.
func (d *direction) claimed(c *Fence, e Entry) *Fault {
	was, known := d.owner, d.owned || c.ReviewedTail == 1 // right behind the genesis nobody owns it
	d.owner, d.owned = c.Owner, true
	switch {
	case c.Generation != d.generation:
		return faultf(Ownership, "a fence of generation %s", c.Generation)
	case known && c.PreviousOwner != was:
		return faultf(Ownership, "it replaces another owner than there was")
	case c.ReviewedTail+1 != e.Position:
		return faultf(Ownership, "it was to stand behind %d", c.ReviewedTail)
	}
	return nil
}

// End returns what only shows when all entries are there: receipts of what the
// peer did not write.
func (t *Transcript) End() (faults []*Fault) {
	for _, id := range slices.Sorted(maps.Keys(t.directions)) {
		d := t.directions[id]
		if d.receipt == nil {
			continue
		}
		peer := t.directions[d.receipt.PeerStreamID]
		switch {
		case peer == nil && t.partial:
		case peer == nil && d.receipt.NextPosition <= 1: // of a peer that wrote nothing
		case peer == nil:
			faults = append(faults, faultf(ReceiptRange, "%s acknowledges %s, of which nothing is there", id, d.receipt.PeerStreamID))
		case d.receipt.PeerGeneration != peer.generation:
			faults = append(faults, faultf(ReceiptRange, "%s acknowledges generation %s of %s, which has %s", id, d.receipt.PeerGeneration, d.receipt.PeerStreamID, peer.generation))
		case uint64(d.receipt.NextPosition) > peer.next && !t.partial:
			faults = append(faults, faultf(ReceiptRange, "%s acknowledges %s up to %d, which ends at %d", id, d.receipt.PeerStreamID, d.receipt.NextPosition, peer.next))
		}
	}
	return faults
}

// plain returns b without white space between tokens and with as few escapes in
// strings as a record has: what prints JSON may have added some.
func plain(b []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return []byte(strings.TrimSuffix(out.String(), "\n")), nil
		}
		if err != nil {
			return nil, err
		}
		if err := e.WriteToken(token); err != nil {
			return nil, err
		}
	}
}
