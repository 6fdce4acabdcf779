package mailbox

import (
	"iter"
	"strconv"

	"agentchat/shared/api"
	"agentchat/shared/sse"
)

// Events turns pages into batches of server-sent events, an empty page into an
// empty batch. An event's id is the position behind its delivery: what a reader
// that saw it has to resume from.
func Events(pages iter.Seq2[*api.InboxPage, error]) iter.Seq2[[]sse.Event, error] {
	return func(yield func([]sse.Event, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(events(page.Deliveries), nil) {
				return
			}
		}
	}
}

func events(ds []api.Delivery) []sse.Event {
	es := make([]sse.Event, 0, len(ds))
	for _, d := range ds {
		es = append(es, sse.Event{Name: "envelope", ID: strconv.FormatUint(d.SeqNum+1, 10), Data: d.AppendJSON(nil)})
	}
	return es
}
