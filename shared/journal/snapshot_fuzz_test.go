package journal_test

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"agentchat/shared/journal"
	"agentchat/shared/stream"
)

// True snapshots of a stream, cut up and shuffled, between events and
// records with any bytes in them, each naming any position as the latest: no
// panic, and the fold is what it is from 0.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 2, 0, 3, 0}, []byte(`["x"]`))
	f.Add([]byte{0, 1, 0x11, 2, 0x12, 0, 2, 0x13, 3, 0, 0x80}, []byte(`{"format":"names","chunks":0,"bytes":0,"sha256":"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}`))
	f.Add([]byte{0, 1, 2, 2, 3, 0x23, 4, 5, 6, 0}, []byte(`{"format":"names","chunks":-1,"bytes":99999999}`))
	f.Fuzz(func(t *testing.T, script, body []byte) {
		entries := scripted(script[:min(len(script), 64)], body)
		want, err := journal.Read(t.Context(), journal.New(listed{entries: entries}, journal.Options{}), bob, nameFold(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range []uint64{0, uint64(max(latest(entries), 0))} {
			got, err := journal.Read(t.Context(), journal.New(listed{entries: entries, first: first, page: 1}, journal.Options{}), bob, snapFold(), 0)
			if err == nil && !slices.Equal(got, want) || err != nil && first == 0 {
				t.Errorf("from %d: %q, %v; want %q", first, got, err, want)
			}
		}
	})
}

// scripted makes a stream: the low half of each byte is what a record is, the
// high half whose, or which position it names.
func scripted(script, body []byte) (entries []stream.Entry) {
	states := []names{nil} // before each position
	var data [4][]byte
	var chunks [4]int
	for i, b := range script {
		who := int(b>>4) % 4
		kind := []string{"event", "snapshot.begin", "snapshot.chunk", "snapshot.end", "snapshot.begin", "snapshot.chunk", "nop"}[b%16%7]
		h := []stream.Header{{Name: "agent-chat-kind", Value: kind}, {Name: "agent-chat-nonce", Value: strconv.Itoa(who)}}
		r := stream.Record{Body: body}
		state, of := states[i], max(0, i-int(b>>6)*4)
		switch b % 16 % 7 {
		case 0:
			r.Body = strconv.AppendInt(nil, int64(i), 10)
			state = append(slices.Clip(state), string(r.Body))
		case 1:
			data[who], _ = json.Marshal(states[of])
			chunks[who] = 0
			digest := sha256.Sum256(data[who])
			r.Body, _ = json.Marshal(map[string]any{"format": "names", "of": of, "chunks": (len(data[who]) + 3) / 4, "bytes": len(data[who]), "sha256": digest[:]})
		case 2:
			n := min(4, len(data[who]))
			r.Body, data[who] = data[who][:n], data[who][n:]
			h = append(h, stream.Header{Name: "agent-chat-chunk", Value: strconv.Itoa(chunks[who])})
			chunks[who]++
		case 5:
			h = append(h, stream.Header{Name: "agent-chat-chunk", Value: strconv.Itoa(len(body) % 3)})
		}
		r.Headers = append(h, stream.Header{Name: "agent-chat-snapshot", Value: strconv.Itoa(int(b >> 3))})
		entries = append(entries, stream.Entry{Seq: uint64(i), Record: r})
		states = append(states, state)
	}
	return entries
}
