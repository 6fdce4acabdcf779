package monitor

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/mailbox"
	"agentchat/shared/sse"
)

// About how many bytes of a page are in the form of events at once, and how many
// a stream keeps room for while it is silent.
const (
	maxChunk  = 256 << 10
	keptChunk = 16 << 10
)

// Events turns pages into batches of server-sent events: of gaps, of inboxes
// that have become unavailable, and of deliveries. Only those have an id, their
// cursor. A large page is several batches; each lasts until the next is asked for.
func Events(pages iter.Seq2[*api.MonitorPage, error]) iter.Seq2[[]sse.Event, error] {
	return func(yield func([]sse.Event, error) bool) {
		var c chunk
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			if !c.fill(page, yield) {
				return
			}
		}
	}
}

// A chunk is events, and the bytes that they point to.
type chunk struct {
	events []sse.Event
	data   []byte
}

// fill yields the events of a page, at least one batch.
func (c *chunk) fill(page *api.MonitorPage, yield func([]sse.Event, error) bool) bool {
	for _, agent := range sortedKeys(page.Gaps) {
		c.events = append(c.events, sse.Event{Name: "gap", Data: encode(api.GapEvent{Inbox: agent, Gap: page.Gaps[agent]})})
	}
	for _, agent := range sortedKeys(page.Unavailable) {
		c.events = append(c.events, sse.Event{Name: "unavailable", Data: encode(api.UnavailableEvent{Inbox: agent, Unreachable: page.Unavailable[agent]})})
	}
	for i := range page.Deliveries {
		d := &page.Deliveries[i]
		if len(c.data)+mailbox.Size(&d.Delivery) > maxChunk && len(c.events) > 0 {
			if !yield(c.events, nil) {
				return false
			}
			c.clear()
		}
		begin := len(c.data)
		c.data = d.AppendJSON(c.data)
		c.events = append(c.events, sse.Event{Name: "envelope", ID: d.Cursor, Data: c.data[begin:len(c.data):len(c.data)]})
	}
	more := yield(c.events, nil)
	if c.clear(); cap(c.data) > keptChunk {
		c.data = nil
	}
	return more
}

func (c *chunk) clear() {
	clear(c.events)
	c.events, c.data = c.events[:0], c.data[:0]
}

func sortedKeys[V any](m map[ident.Agent]V) []ident.Agent { return slices.Sorted(maps.Keys(m)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("monitor: " + err.Error()) // of types that always encode
	}
	return b
}
