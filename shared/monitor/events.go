package monitor

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/sse"
)

// Events turns pages into batches of server-sent events: of gaps, of inboxes
// that have become unavailable, and of deliveries. Only those have an id, their cursor.
func Events(pages iter.Seq2[*api.MonitorPage, error]) iter.Seq2[[]sse.Event, error] {
	return func(yield func([]sse.Event, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(events(page), nil) {
				return
			}
		}
	}
}

func events(page *api.MonitorPage) []sse.Event {
	es := make([]sse.Event, 0, len(page.Gaps)+len(page.Unavailable)+len(page.Deliveries))
	for _, agent := range sortedKeys(page.Gaps) {
		es = append(es, sse.Event{Name: "gap", Data: encode(api.GapEvent{Inbox: agent, Gap: page.Gaps[agent]})})
	}
	for _, agent := range sortedKeys(page.Unavailable) {
		es = append(es, sse.Event{Name: "unavailable", Data: encode(api.UnavailableEvent{Inbox: agent, Unreachable: page.Unavailable[agent]})})
	}
	for _, d := range page.Deliveries {
		es = append(es, sse.Event{Name: "envelope", ID: d.Cursor, Data: d.AppendJSON(nil)})
	}
	return es
}

func sortedKeys[V any](m map[ident.Agent]V) []ident.Agent { return slices.Sorted(maps.Keys(m)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("monitor: " + err.Error()) // of types that always encode
	}
	return b
}
