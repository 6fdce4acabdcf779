package chat_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/chat"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// What is noted with a record is read back, and is behind what is signed.
func TestNotes(t *testing.T) {
	r := signed.Record{
		ChatID: scope.Chat, AuthorAgentID: "alice", AuthoredWith: signed.Fleet, OperationID: signed.GenesisOperation(scope.Chat, "alice", g1),
		Genesis: &signed.Genesis{Generation: g1, PeerAgentID: "bob"},
	}
	rec, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	n := chat.Notes{Generation: g1, Acknowledged: 7, Digest: "k.d"}
	e := stream.Entry{Record: n.With(rec)}
	want := chat.Header{Notes: n, Type: signed.TypeGenesis, Chat: scope.Chat, Author: "alice", Operation: r.OperationID}
	if got, ok := chat.HeaderOf(e); !ok || got != want {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	if _, err := signed.OpenEntry(new(signed.Set), e); err != nil {
		t.Errorf("a record with notes can't be opened: %v", err)
	}
	for i := range e.Headers {
		without := stream.Entry{Record: stream.Record{Headers: slices.Delete(slices.Clone(e.Headers), i, i+1)}}
		got, ok := chat.HeaderOf(without)
		if ok && got == want && e.Headers[i].Name != signed.HeaderContentType {
			t.Errorf("without %s the same is read", e.Headers[i].Name)
		}
	}
	if _, ok := chat.HeaderOf(stream.Entry{Record: stream.Fence("f")}); ok {
		t.Error("a command is taken for a record")
	}
}

// The digest is the request's: any other one has another, and without its key
// nobody can tell.
func TestDigest(t *testing.T) {
	ack := func(stream string, g ident.Generation, next api.Position, batch ident.Batch) *api.Acknowledgement {
		return &api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g, NextPosition: &next, BatchID: batch}
	}
	requests := []struct {
		content string
		ack     *api.Acknowledgement
	}{
		{"", nil},
		{"a", nil},
		{"A", nil},
		{"a", ack("s", g1, 1, "b")},
		{"a", ack("s", g1, 2, "b")},
		{"a", ack("s", g2, 1, "b")},
		{"a", ack("t", g1, 1, "b")},
		{"a", ack("s", g1, 1, "c")},
		{"as", ack("", g1, 1, "b")},
	}
	for i, r := range requests {
		d := chat.Digest(secret(1), r.content, r.ack)
		for j, o := range requests {
			if got := chat.SameRequest([]signed.Secret{secret(2), secret(1)}, d, o.content, o.ack); got != (i == j) {
				t.Errorf("requests %d and %d are the same: %v", i, j, got)
			}
		}
		if chat.SameRequest([]signed.Secret{secret(2)}, d, r.content, r.ack) || chat.SameRequest(nil, "", r.content, r.ack) {
			t.Errorf("request %d is known without its key", i)
		}
	}
}

// The size of an append is what the store meters, its position and its token.
func TestSize(t *testing.T) {
	in := stream.Batch{Records: []stream.Record{{Headers: []stream.Header{{Name: "ab", Value: "c"}}, Body: []byte("xyz")}, {Body: []byte("é")}}}
	if got, want := chat.Size(in), 8+2+3+3+8+2; got != want {
		t.Errorf("Size = %d; want %d", got, want)
	}
	in.At, in.Token = new(uint64(1)), new(strings.Repeat("t", 34))
	if got, want := chat.Size(in), 26+8+34; got != want {
		t.Errorf("Size with position and token = %d; want %d", got, want)
	}
}

// By timestamp, then participant, bytewise, then position (B136, B141).
func TestOrder(t *testing.T) {
	want := []chat.Place{{1, "b", 9}, {2, "a", 3}, {2, "a", 4}, {2, "a-b", 0}, {2, "a.b", 0}, {2, "b", 1}, {3, "a", 5}}
	for seed := range want {
		got := slices.Clone(want)
		slices.SortStableFunc(got, func(p, q chat.Place) int {
			return cmp.Compare((p.Position*7+uint64(seed))%5, (q.Position*7+uint64(seed))%5)
		})
		slices.SortFunc(got, chat.Place.Compare)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Only a batch that was presented since the last receipt can be acknowledged.
func TestAcknowledge(t *testing.T) {
	presented := chat.Presented{Chat: scope.Chat, Reader: "alice", Peer: "bob", Generation: g1, From: 3}
	batch := func(change func(*chat.Presented), key signed.Secret) ident.Batch {
		p := presented
		p.Next = 5
		if change != nil {
			change(&p)
		}
		return p.ID(key)
	}
	stream := signed.StreamID(scope.Chat, "bob")
	good := batch(nil, secret(1))
	for _, c := range []struct {
		name string
		ack  api.Acknowledgement
		tail uint64
		want api.Code
	}{
		{"as presented", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: good}, 5, ""},
		{"the peer wrote more since", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: good}, 9, ""},
		{"under the former key", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: batch(nil, secret(2))}, 5, ""},
		{"beyond the peer's tail", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: good}, 4, api.BatchUnknown},
		{"another end", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(4)), BatchID: good}, 5, api.BatchUnknown},
		{"below the last receipt", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(3)), BatchID: batch(func(p *chat.Presented) { p.From, p.Next = 1, 3 }, secret(1))}, 5, api.BatchUnknown},
		{"from before the last receipt", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: batch(func(p *chat.Presented) { p.From = 2 }, secret(1))}, 5, api.BatchUnknown},
		{"another generation", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g2, NextPosition: new(api.Position(5)), BatchID: batch(func(p *chat.Presented) { p.Generation = g2 }, secret(1))}, 5, api.GenerationChanged},
		{"one's own stream", api.Acknowledgement{PeerStreamID: signed.StreamID(scope.Chat, "alice"), PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: good}, 5, api.BatchUnknown},
		{"presented to the other", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: batch(func(p *chat.Presented) { p.Reader = "bob" }, secret(1))}, 5, api.BatchUnknown},
		{"of another chat", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: batch(func(p *chat.Presented) { p.Chat = "chat_0123456789abcdef0123456789abcdee" }, secret(1))}, 5, api.BatchUnknown},
		{"under a key of nobody's", api.Acknowledgement{PeerStreamID: stream, PeerGeneration: g1, NextPosition: new(api.Position(5)), BatchID: batch(nil, secret(3))}, 5, api.BatchUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := presented.Acknowledge(&c.ack, c.tail, []signed.Secret{secret(1), secret(2)})
			if got := codeOf(err); got != c.want || (err == nil) != (c.want == "") {
				t.Errorf("err = %v; want %q", err, c.want)
			}
		})
	}
}

func TestIncluded(t *testing.T) {
	for s, want := range map[string][]signed.Type{
		"": nil, "receipts": {signed.TypeReceipt}, "fences,receipts": {signed.TypeFence, signed.TypeReceipt},
	} {
		if got, err := chat.Included(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("Included(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"receipt", "receipts,", "receipts,receipts", "receipts, fences", "messages", "genesis"} {
		if _, err := chat.Included(s); codeOf(err) != api.Invalid {
			t.Errorf("Included(%q): %v; want invalid", s, err)
		}
	}
}
