package monitor_test

import (
	"fmt"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/cursor"
	"agentchat/shared/ident"
	"agentchat/shared/monitor"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
	"agentchat/shared/stream/localstream"
)

// A fleet is inboxes on a store in memory that may fail.
type fleet struct {
	t     testing.TB
	store *faultstream.Store
	m     *monitor.Monitor
	sent  map[ident.Agent]uint64 // tails
}

func newFleet(t testing.TB, choose faultstream.Chooser) *fleet {
	t.Helper()
	inner, closeStore := localstream.Memory()
	t.Cleanup(closeStore)
	return fleetOn(t, faultstream.New(t, inner, faultstream.Options{Choose: choose}))
}

func fleetOn(t testing.TB, store *faultstream.Store) *fleet {
	return &fleet{t: t, store: store, m: monitor.New(store, nil), sent: map[ident.Agent]uint64{}}
}

// name returns an agent's name of 64 bytes: 22 of them are more than a version 1
// cursor of 2 KiB has room for.
func name(i int) ident.Agent {
	return ident.Agent(fmt.Sprintf("agent-%05d-%s", i, strings.Repeat("x", 52)))
}

func (f *fleet) create(agents ...ident.Agent) {
	f.t.Helper()
	for _, a := range agents {
		if err := f.store.Create(f.t.Context(), stream.Inbox(a), stream.Config{}); err != nil {
			f.t.Fatal(err)
		}
		f.sent[a] = 0
	}
}

// send puts n messages into an inbox, whose ids say where they stand.
func (f *fleet) send(to ident.Agent, n int) {
	f.t.Helper()
	for range n {
		f.append(to, envelope(api.KindMessage, "alice", fmt.Sprintf("%s-%d", to, f.sent[to]), 0))
	}
}

func (f *fleet) append(to ident.Agent, r stream.Record) {
	f.t.Helper()
	ack, err := f.store.Append(f.t.Context(), stream.Inbox(to), stream.Batch{Records: []stream.Record{r}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.sent[to] = ack.Next
}

func envelope(kind api.Kind, from ident.Agent, id string, size int) stream.Record {
	body := fmt.Sprintf(`{"id":%q,"conversation_id":"c","text":%q}`, id, strings.Repeat("t", size))
	return stream.Record{Body: []byte(body), Headers: []stream.Header{
		{Name: "content-type", Value: "application/json"},
		{Name: "agent-chat-schema", Value: api.EnvelopeSchema},
		{Name: "agent-chat-kind", Value: string(kind)},
		{Name: "agent-chat-id", Value: id},
		{Name: "agent-chat-from", Value: string(from)},
	}}
}

func (f *fleet) page(q monitor.Query) *api.MonitorPage {
	f.t.Helper()
	page, err := f.m.Page(f.t.Context(), q)
	if err != nil {
		f.t.Fatalf("Page(%.200s): %v", q.Cursor, err)
	}
	return page
}

// inOrder fails the test unless deliveries are in the order of the protocol.
func inOrder(t testing.TB, ds []api.MonitorDelivery) {
	t.Helper()
	for i := 1; i < len(ds); i++ {
		a, b := ds[i-1], ds[i]
		at := a.Timestamp.Compare(b.Timestamp.Time)
		if at > 0 || at == 0 && (a.Inbox > b.Inbox || a.Inbox == b.Inbox && a.SeqNum >= b.SeqNum) {
			t.Errorf("%s %s %d stands before %s %s %d", a.Timestamp, a.Inbox, a.SeqNum, b.Timestamp, b.Inbox, b.SeqNum)
		}
	}
}

func version(text string) int {
	c, err := cursor.Parse(text)
	if err != nil {
		return 0
	}
	if c.Base == nil {
		return 1
	}
	return 2
}
