package sse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentchat/shared/sse"
)

// TestReadOfAppend: a stream of events and heartbeats reads as what was written,
// however it is cut; where it ends too early, as its complete events.
func TestReadOfAppend(t *testing.T) {
	field := rapid.StringMatching(`[^\x00\r\n]{0,8}`)
	data := rapid.StringOf(rapid.RuneFrom([]rune{'\n', '\r', ':', ' ', 'd', 'é', '\ufeff', 0}))
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		want := []sse.Event{}
		var ends []int // of each of want
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			if rapid.Bool().Draw(t, "heartbeat") {
				stream = sse.AppendComment(stream, "keep-alive")
				want, ends = append(want, sse.Event{Comment: "keep-alive"}), append(ends, len(stream))
			}
			e := sse.Event{
				Name: field.Draw(t, "name"), ID: field.Draw(t, "id"), Data: []byte(data.Draw(t, "data")),
				Retry: rapid.IntRange(0, 5000).Draw(t, "retry"),
			}
			var err error
			if stream, err = e.Append(stream); err != nil {
				t.Fatal(err)
			}
			if e.ID == "" { // what is left out stays as it was
				e.ID = lastID(want)
			}
			e.Data = []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(e.Data)))
			want, ends = append(want, e), append(ends, len(stream))
		}

		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(t, "sizes")
		got, err := collect(&chunks{b: stream[:cut], sizes: sizes}, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(append([]sse.Event{}, got...), func(e sse.Event) bool { return e.Data == nil && e.Retry > 0 })
		complete, _ := slices.BinarySearch(ends, cut+1)
		if diff := cmp.Diff(want[:complete:complete], got); diff != "" {
			t.Fatalf("%q cut at %d (-want +got):\n%s", stream, cut, diff)
		}
	})
}

func lastID(events []sse.Event) string {
	for _, e := range slices.Backward(events) {
		if e.Data != nil {
			return e.ID
		}
	}
	return ""
}
