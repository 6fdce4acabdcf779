package signed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

// A conversation writes both directions of a chat as the server does.
type conversation struct {
	t       *testing.T
	key     *signed.Key
	at      time.Time
	tails   map[ident.Agent]uint64
	owners  map[ident.Agent]ident.Owner
	entries []signed.Entry
}

const bobsGeneration = ident.Generation("fedcba9876543210")

func newConversation(t *testing.T, key *signed.Key) *conversation {
	c := &conversation{t: t, key: key, at: noon, tails: map[ident.Agent]uint64{"alice": 1, "bob": 1}, owners: map[ident.Agent]ident.Owner{}}
	c.claim("alice", "c1")  // 0: the command is at 1, the fence at 2
	c.claim("bob", "c2")    // 1
	c.send("alice", "m1")   // 2: at 3
	c.send("alice", "m2")   // 3: at 4
	c.answer("bob", "m3")   // 4, 5: at 3 and 4
	c.claim("alice", "c3")  // 6: the command is at 5, the fence at 6
	c.answer("alice", "m4") // 7, 8: at 7 and 8
	return c
}

func (c *conversation) add(by ident.Agent, op ident.Operation, index int, r signed.Record) {
	r.ChatID, r.AuthorAgentID, r.OperationID, r.RecordIndex, r.AuthoredWith = chat, by, op, index, signed.AgentKey
	c.entries = append(c.entries, signed.Entry{
		StreamID: signed.StreamID(chat, by), Generation: generationOf(by), Position: api.Position(c.tails[by]),
		Timestamp: api.Time{Time: c.at}, Record: encode(c.t, &r).Body,
	})
	c.tails[by]++
	c.at = c.at.Add(time.Second)
}

func generationOf(a ident.Agent) ident.Generation {
	if a == "bob" {
		return bobsGeneration
	}
	return gen
}

func peerOf(a ident.Agent) ident.Agent {
	if a == "bob" {
		return "alice"
	}
	return "bob"
}

func (c *conversation) claim(by ident.Agent, id string) {
	owner := signed.OwnerOf(chat, by, signed.NewOwnerToken([]byte("key"), chat, by, id))
	f := &signed.Fence{Owner: owner, PreviousOwner: c.owners[by], ReviewedTail: api.Position(c.tails[by]), Generation: generationOf(by)}
	c.owners[by] = owner
	c.tails[by]++ // the command
	c.add(by, signed.ClaimOperation(chat, by, owner), 0, signed.Record{Fence: f})
}

func (c *conversation) send(by ident.Agent, id ident.Message) {
	m, err := signed.Sign(c.key, signed.Draft{ChatID: chat, From: by, To: peerOf(by), MessageID: id, Content: "grüße\u202e\u0085 " + string(id), CreatedAt: c.at})
	if err != nil {
		c.t.Fatal(err)
	}
	c.add(by, signed.MessageOperation(chat, by, id), 0, signed.Record{Message: m})
}

// answer sends a message and acknowledges all of the peer's in one append.
func (c *conversation) answer(by ident.Agent, id ident.Message) {
	c.send(by, id)
	peer := peerOf(by)
	next := api.Position(c.tails[peer])
	c.add(by, signed.MessageOperation(chat, by, id), 1, signed.Record{Receipt: &signed.Receipt{
		PeerStreamID: signed.StreamID(chat, peer), PeerGeneration: generationOf(peer), NextPosition: next,
		BatchID: signed.BatchID([]byte("key"), chat, by, signed.StreamID(chat, peer), generationOf(peer), 1, next),
	}})
}

// check returns the reasons of all faults, with the index of the entry.
func check(keys *signed.Set, partial bool, entries []signed.Entry) []string {
	got := []string{}
	tr := signed.NewTranscript(keys, partial)
	for i, e := range entries {
		for _, f := range tr.Add(e) {
			got = append(got, fmt.Sprintf("%d %s", i, f.Reason))
		}
	}
	for _, f := range tr.End() {
		got = append(got, "end "+string(f.Reason))
	}
	return got
}

// A transcript as it was written has no fault: whole, of one direction, or its messages alone.
func TestTranscript(t *testing.T) {
	key := newKey(t, signed.ES256)
	keys := set(key)
	c := newConversation(t, key)
	if got := check(keys, false, c.entries); len(got) > 0 {
		t.Errorf("faults %v", got)
	}
	messages := slices.DeleteFunc(slices.Clone(c.entries), func(e signed.Entry) bool { return !strings.Contains(string(e.Record), `"message":`) })
	if got := check(keys, true, messages[1:]); len(got) > 0 {
		t.Errorf("faults %v in messages alone", got)
	}
	if got := check(keys, false, messages); !slices.Contains(got, "0 gap") {
		t.Errorf("faults %v in messages alone, as a whole; want a gap", got)
	}
	genesis := signed.Entry{StreamID: signed.StreamID(chat, "alice"), Generation: gen, Timestamp: api.Time{Time: noon}, Record: encode(t, &signed.Record{
		ChatID: chat, AuthorAgentID: "alice", OperationID: signed.GenesisOperation(chat, "alice", gen), AuthoredWith: signed.Fleet,
		Genesis: &signed.Genesis{Generation: gen, PeerAgentID: "bob"},
	}).Body}
	if got := check(keys, false, append([]signed.Entry{genesis}, c.entries...)); len(got) > 0 {
		t.Errorf("faults %v with a genesis", got)
	}
	tr := signed.NewTranscript(keys, false)
	for _, e := range c.entries {
		tr.Add(e)
	}
	if diff := cmp.Diff(map[signed.Type]int{signed.TypeMessage: 4, signed.TypeReceipt: 2, signed.TypeFence: 3}, tr.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// What prints JSON may escape more than was stored, and put spaces between.
func TestTranscriptTakesEscapes(t *testing.T) {
	key := newKey(t, signed.ES256)
	c := newConversation(t, key)
	for i := range c.entries {
		s := strings.NewReplacer("\u202e", `\u202e`, "\u0085", `\u0085`, "ü", `\u00fc`, `":`, `" : `).Replace(string(c.entries[i].Record))
		c.entries[i].Record = []byte(s)
	}
	if got := check(set(key), false, c.entries); len(got) > 0 {
		t.Errorf("faults %v", got)
	}
}

// Each thing that is wrong with a transcript is named, and where.
func TestTranscriptFaults(t *testing.T) {
	key := newKey(t, signed.ES256)
	keys := set(key)
	for _, c := range []struct {
		name    string
		drop    int // this entry, if it is not 0
		repeat  int // insert a copy of this entry, if it is not 0 ...
		before  int // ... before this one
		change  int // of this entry ...
		old, by string
		stream  string // ... the stream
		gen     ident.Generation
		move    int           // ... the position, by this much
		later   time.Duration // ... the time
		want    []string
	}{
		{name: "a message is missing", drop: 2, want: []string{"2 gap"}},
		{name: "a fence is missing", drop: 6, want: []string{"6 gap"}},
		{name: "the first fence is missing", drop: 1, want: []string{"3 gap"}},
		{name: "a receipt is missing", drop: 5, want: []string{"end receipt_range"}}, // which the peer has acknowledged
		{name: "the message of a receipt is missing", drop: 7, want: []string{"7 gap", "7 split_operation"}},
		{name: "a record twice", repeat: 3, before: 4, want: []string{"4 out_of_order", "4 repeated_signature", "4 split_operation"}},
		{name: "a record in front of itself", repeat: 3, before: 2, want: []string{"2 gap", "3 out_of_order", "3 out_of_order", "4 out_of_order", "4 repeated_signature", "4 split_operation"}},
		{name: "another content", change: 2, old: "grüße", by: "Grüße", want: []string{"2 wrong_hash"}},
		{name: "another recipient", change: 2, old: `"toAgentId":"bob"`, by: `"toAgentId":"eve"`, want: []string{"2 wrong_signature"}},
		{name: "no JSON", change: 2, old: "{", by: "", want: []string{"2 malformed"}},
		{name: "another stream", change: 4, stream: signed.StreamID(chat, "alice"), want: []string{"4 another_stream", "5 gap", "5 split_operation"}},
		{name: "another chat", change: 4, stream: signed.StreamID("chat_ffffffffffffffffffffffffffffffff", "bob"), want: []string{"4 another_stream", "5 gap", "5 split_operation"}},
		{name: "no stream of a chat", change: 4, stream: "inbox/bob", want: []string{"4 another_stream", "5 gap", "5 split_operation"}},
		{name: "a third party", change: 4, stream: signed.StreamID(chat, "eve"), want: []string{"4 another_stream", "5 gap", "5 split_operation"}},
		{name: "another generation", change: 4, gen: gen, want: []string{"4 another_stream", "5 gap", "5 split_operation"}},
		{name: "a position too far", change: 3, move: 1, want: []string{"3 gap"}},
		{name: "a position again", change: 3, move: -1, want: []string{"3 out_of_order", "6 gap"}},
		{name: "stored before the one in front of it", change: 3, later: -2 * time.Second, want: []string{"3 out_of_order"}},
		{name: "stored too late", change: 8, later: 6 * time.Minute, want: nil}, // of a receipt nobody signed a time
		{name: "stored too late after it was signed", change: 7, later: 6 * time.Minute, want: []string{"7 store_time", "8 out_of_order"}},
		{name: "a fence that replaces another owner", change: 6, old: `"previousOwner":"f_`, by: `"previousOwner":"f_x`, want: []string{"6 malformed"}},
		{name: "a fence with no former owner", change: 6, old: `"previousOwner":`, by: `"owner_":`, want: []string{"6 malformed"}},
		{name: "a fence reviewed elsewhere", change: 6, old: `"reviewedTail":"5"`, by: `"reviewedTail":"4"`, want: []string{"6 gap", "6 ownership"}},
		{name: "a fence of another generation", change: 6, old: `"generation":"0123`, by: `"generation":"4123`, want: []string{"6 ownership"}},
		{name: "a receipt beyond the peer's end", change: 8, old: `"nextPosition":"5"`, by: `"nextPosition":"6"`, want: []string{"end receipt_range"}},
		{name: "a receipt of another generation", change: 8, old: string(bobsGeneration), by: "0" + string(bobsGeneration[1:]), want: []string{"end receipt_range"}},
		{name: "a receipt for another peer", change: 8, old: "/bob", by: "/eve", want: []string{"8 another_stream"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries := newConversation(t, key).entries
			if e := &entries[c.change]; c.change != 0 {
				if c.old != "" && !strings.Contains(string(e.Record), c.old) {
					t.Fatalf("no %s in %s", c.old, e.Record)
				}
				e.Record = []byte(strings.Replace(string(e.Record), c.old, c.by, 1))
				e.Position = api.Position(int(e.Position) + c.move)
				e.Timestamp.Time = e.Timestamp.Add(c.later)
				if c.stream != "" {
					e.StreamID = c.stream
				}
				if c.gen != "" {
					e.Generation = c.gen
				}
			}
			if c.repeat != 0 {
				entries = slices.Insert(entries, c.before, entries[c.repeat])
			}
			if c.drop != 0 {
				entries = slices.Delete(entries, c.drop, c.drop+1)
			}
			want := append([]string{}, c.want...)
			if diff := cmp.Diff(want, check(keys, false, entries)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// One act of signing at two positions is found though the copy has the other s,
// and its place in a transcript fits.
func TestTranscriptFindsCopies(t *testing.T) {
	key := newKey(t, signed.ES256)
	c := newConversation(t, key)
	c.send("alice", "m5") // 9: at 9
	last := c.entries[9]
	last.Record = []byte(otherS(t, string(last.Record)))
	last.Record = []byte(strings.Replace(string(last.Record), string(signed.MessageOperation(chat, "alice", "m5")), string(signed.MessageOperation(chat, "alice", "m6")), 1))
	last.Position++
	if _, err := signed.Open(set(key), last.Record, last.Timestamp.Time); err != nil {
		t.Fatalf("the copy: %v; want it to verify", err)
	}
	if diff := cmp.Diff([]string{"10 repeated_signature"}, check(set(key), false, append(c.entries, last))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// A receipt never goes back, and an owner is followed by the fence that names it.
func TestTranscriptOrder(t *testing.T) {
	key := newKey(t, signed.ES256)
	c := newConversation(t, key)
	c.tails["bob"] = 4
	c.answer("alice", "m5") // acknowledges up to 4, after up to 5
	c.tails["bob"] = 5
	c.owners["bob"] = c.owners["alice"]
	c.claim("bob", "c4")
	if diff := cmp.Diff([]string{"10 receipt_range", "11 ownership"}, check(set(key), false, c.entries)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
