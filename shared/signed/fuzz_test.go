package signed_test

import (
	"bytes"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/signed"
)

// What Open takes serialises to the same bytes, whatever it is given.
func FuzzOpen(f *testing.F) {
	set, keys := readVectors(f)
	for _, v := range set.Vectors {
		f.Add([]byte(v.Record))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := signed.Open(keys, body, time.Time{})
		if err != nil {
			if reason(err) == "" {
				t.Errorf("Open: %v; want a Fault", err)
			}
			return
		}
		if again := encode(t, r); !bytes.Equal(again.Body, body) {
			t.Errorf("again %q; want %q", again.Body, body)
		}
	})
}

// A signed record with one byte changed, left out or put in is refused, or says
// the same of all that is signed: who wrote what to whom, where and when.
func FuzzMalleability(f *testing.F) {
	set, keys := readVectors(f)
	var records []string
	for _, v := range set.Vectors {
		if v.Payload != "" {
			records = append(records, v.Record)
		}
	}
	f.Add(uint16(0), uint16(300), byte('x'), byte(0))
	f.Fuzz(func(t *testing.T, which, where uint16, c, how byte) {
		record := records[int(which)%len(records)]
		at := int(where) % len(record)
		changed := []byte(record)
		switch how % 3 {
		case 0:
			changed[at] = c
		case 1:
			changed = append(changed[:at], changed[at+1:]...)
		case 2:
			changed = append(append(append([]byte{}, record[:at]...), c), record[at:]...)
		}
		same(t, keys, record, changed)
	})
}

// Every byte of a record, changed in every bit.
func TestMalleability(t *testing.T) {
	set, keys := readVectors(t)
	record := set.Vectors[0].Record
	for at := range len(record) {
		for bit := range 8 {
			changed := []byte(record)
			changed[at] ^= 1 << bit
			same(t, keys, record, changed)
		}
	}
}

func same(t *testing.T, keys *signed.Set, record string, changed []byte) {
	t.Helper()
	got, err := signed.Open(keys, changed, time.Time{})
	if err != nil {
		return
	}
	want, err := signed.Open(keys, []byte(record), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	g, w := *got.Message, *want.Message
	g.ClientMessageID, w.ClientMessageID = "", "" // not signed, as the protocol has it
	if got.ChatID != want.ChatID || got.AuthorAgentID != want.AuthorAgentID || g != w {
		t.Errorf("%s was taken; it is not %s", changed, record)
	}
}

// A set that is read is the same when it is written and read again, and what it
// publishes can be read and holds nothing private.
func FuzzParseSet(f *testing.F) {
	s, err := signed.NewSet(noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Private())
	f.Add(s.Public())
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","exp":-1,"revoked":true}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := signed.ParseSet(b)
		if err != nil {
			return
		}
		again, err := signed.ParseSet(s.Private())
		if err != nil || !bytes.Equal(again.Private(), s.Private()) {
			t.Errorf("%s became %s; %v", s.Private(), again.Private(), err)
		}
		public, err := signed.ParseSet(s.Public())
		if err != nil {
			t.Fatalf("%s: %v", s.Public(), err)
		}
		for _, k := range public.Keys() {
			if _, err := k.Sign(nil, k.NotBefore); err == nil || k.Revoked {
				t.Errorf("published: %s", s.Public())
			}
		}
	})
}

// Whatever stands in a transcript, the rest of it can still be checked.
func FuzzTranscript(f *testing.F) {
	set, keys := readVectors(f)
	for _, v := range set.Vectors {
		f.Add([]byte(v.Record), signed.StreamID(chat, "alice"), uint64(1), int64(0))
	}
	f.Fuzz(func(t *testing.T, record []byte, id string, at uint64, ms int64) {
		tr := signed.NewTranscript(keys, false)
		e := signed.Entry{StreamID: id, Generation: gen, Position: api.Position(at), Timestamp: api.Time{Time: time.UnixMilli(ms)}, Record: record}
		tr.Add(e)
		if faults := tr.Add(e); len(faults) == 0 {
			t.Errorf("%s twice at %d of %s was taken", record, at, id)
		}
		tr.End()
	})
}
