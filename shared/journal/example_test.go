package journal_test

import (
	"context"
	"fmt"
	"slices"

	"agentchat/shared/api"
	"agentchat/shared/journal"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

// A seat that only one can take: the decision is made on the fold, and stands
// right behind what it was made on, however many processes try.
func ExampleUpdate() {
	store, end := localstream.Memory()
	defer end()
	type seats []string
	fold := &journal.Fold[seats]{
		New:   func() seats { return nil },
		Apply: func(s seats, e stream.Entry) (seats, error) { return append(slices.Clip(s), string(e.Body)), nil },
	}
	take := func(who string) func(seats) ([]stream.Record, error) {
		return func(s seats) ([]stream.Record, error) {
			switch {
			case slices.Contains(s, who):
				return nil, nil // it is as wanted
			case len(s) > 0:
				return nil, api.Errorf(api.Busy, "%s has the seat", s[0])
			}
			return []stream.Record{{Body: []byte(who)}}, nil
		}
	}
	j := journal.New(store, journal.Options{})
	for _, who := range []string{"alice", "bob", "alice"} {
		s, err := journal.Update(context.Background(), j, stream.Agent("seat"), fold, take(who))
		fmt.Println(who, s, err)
	}
	// Output:
	// alice [alice] <nil>
	// bob [alice] busy: alice has the seat
	// alice [alice] <nil>
}
