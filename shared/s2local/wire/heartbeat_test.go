package wire_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// A recorder is an answer that notes when each part of it was flushed.
type recorder struct {
	header  http.Header
	status  int
	start   time.Time
	pending bytes.Buffer
	parts   []timed
}

type timed struct {
	After time.Duration
	Bytes []byte
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, start: time.Now()} }

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(b []byte) (int, error) { return w.pending.Write(b) }

func (w *recorder) Flush() {
	if w.pending.Len() > 0 {
		w.parts = append(w.parts, timed{time.Since(w.start), bytes.Clone(w.pending.Bytes())})
	}
	w.pending.Reset()
}

// A bubble is a server without a network, whose time is synctest's.
type bubble struct {
	*host
	handler http.Handler
}

// inBubble runs test in a bubble with an engine in which stream "s" has one record.
func inBubble(t *testing.T, test func(t *testing.T, b bubble)) {
	synctest.Test(t, func(t *testing.T) {
		e := openEngine(t, engine.Options{Memory: true})
		if _, _, err := e.CreateBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}, ""); err != nil {
			t.Fatal(err)
		}
		h := &host{t: t, addr: "bubble", engine: e}
		h.appendText(t, "s", "one")
		test(t, bubble{h, wire.New(e, wire.Options{Token: token, Log: quiet()}).Handler()})
	})
}

// read reads "s" for as long as it lasts, or d.
func (b bubble) read(d time.Duration, query string, header ...string) *recorder {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), d)
	defer cancel()
	r := b.request(ctx, http.MethodGet, "/v1/streams/s/records?"+query, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := newRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

// later appends a record after each of the times.
func (b bubble) later(times ...time.Duration) {
	for _, d := range times {
		time.AfterFunc(d, func() { b.appendText(b.t, "s", "later") })
	}
}

// A beat is a frame or an event by what it says and when.
type beat struct {
	After   time.Duration
	Records int
	Tail    uint64 // 0: not told
}

func beatsOf(t *testing.T, w *recorder) []beat {
	t.Helper()
	var beats []beat
	for _, p := range w.parts {
		if p.Bytes[3] != 0 {
			beats = append(beats, beat{p.After, -1, 0}) // a terminal frame
			continue
		}
		m := new(pb.ReadBatch)
		if err := proto.Unmarshal(p.Bytes[4:], m); err != nil {
			t.Fatal(err)
		}
		beats = append(beats, beat{p.After, len(m.GetRecords()), m.GetTail().GetSeqNum()})
	}
	return beats
}

const second = time.Second

// At the tail a session says so at once and then often enough for the SDKs,
// which take one that says nothing for 20 s for dead.
func TestHeartbeats(t *testing.T) {
	if wire.Heartbeat > 15*time.Second {
		t.Errorf("heartbeat = %v; want at most S2's 15 s", wire.Heartbeat)
	}
	for _, tc := range []struct {
		name, query string
		appends     []time.Duration
		want        []beat
	}{
		{"from the tail", "", nil, []beat{{0, 0, 1}, {10 * second, 0, 1}, {20 * second, 0, 1}}},
		{"after catching up", "seq_num=0", nil, []beat{{0, 1, 1}, {10 * second, 0, 1}, {20 * second, 0, 1}}},
		{"silence counts from the last record", "seq_num=1", []time.Duration{7 * second, 21 * second}, []beat{{0, 0, 1}, {7 * second, 1, 2}, {17 * second, 0, 2}, {21 * second, 1, 3}}},
		{"by time", "timestamp=1", nil, []beat{{0, 1, 1}, {10 * second, 0, 1}, {20 * second, 0, 1}}},
		{"clamped", "seq_num=99&clamp=true", nil, []beat{{0, 0, 1}, {10 * second, 0, 1}, {20 * second, 0, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b bubble) {
				b.later(tc.appends...)
				w := b.read(25*second, tc.query, "Content-Type", "s2s/proto")
				got := beatsOf(t, w)
				if n := len(got); n > 0 && got[n-1].Records < 0 { // the client's own end
					got = got[:n-1]
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("frames (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The wait of a session is between records: heartbeats do not prolong it, records
// do, and a bound ends it earlier.
func TestWait(t *testing.T) {
	for _, tc := range []struct {
		name, query string
		appends     []time.Duration
		want        []beat
		end         time.Duration
	}{
		{"nothing comes", "seq_num=1&wait=25", nil, []beat{{0, 0, 1}, {10 * second, 0, 1}, {20 * second, 0, 1}}, 25 * second},
		{"a record prolongs it", "seq_num=1&wait=5", []time.Duration{3 * second}, []beat{{0, 0, 1}, {3 * second, 1, 2}}, 8 * second},
		{"the count ends it", "seq_num=1&wait=5&count=1", []time.Duration{3 * second}, []beat{{0, 0, 1}, {3 * second, 1, 2}}, 3 * second},
		{"the bytes end it", "seq_num=1&wait=5&bytes=13", []time.Duration{3 * second}, []beat{{0, 0, 1}, {3 * second, 1, 2}}, 3 * second},
		{"a record that does not fit ends it", "seq_num=1&wait=5&bytes=12", []time.Duration{3 * second}, []beat{{0, 0, 1}}, 3 * second},
		{"no wait, a bound", "seq_num=0&count=5", nil, []beat{{0, 1, 1}}, 0},
		{"a count of 0", "seq_num=0&count=0", nil, nil, 0},
		{"until", "seq_num=0&until=1", nil, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b bubble) {
				b.later(tc.appends...)
				w := b.read(100*second, tc.query, "Content-Type", "s2s/proto")
				if diff := cmp.Diff(tc.want, beatsOf(t, w)); diff != "" {
					t.Errorf("frames (-want +got):\n%s", diff)
				}
				if got := time.Since(w.start); got != tc.end {
					t.Errorf("the session lasted %v; want %v", got, tc.end)
				}
			})
		})
	}
}

// A read in one piece returns what there is at once; at the tail it waits for one
// batch, within its wait and a minute, however many other streams are written to.
func TestUnaryWait(t *testing.T) {
	for _, tc := range []struct {
		name, query string
		appends     []time.Duration
		records     int
		status      int
		end         time.Duration
	}{
		{"there is something", "seq_num=0&wait=30", nil, 1, 200, 0},
		{"one batch comes", "seq_num=1&wait=30", []time.Duration{4 * second, 5 * second}, 1, 200, 4 * second},
		{"nothing comes", "seq_num=1&wait=30", nil, 0, 200, 30 * second},
		{"at most a minute", "seq_num=1&wait=3600", nil, 0, 200, time.Minute},
		{"no wait", "seq_num=1", nil, 0, 416, 0},
		{"a wait of nothing", "seq_num=1&wait=0", nil, 0, 416, 0},
		{"a count of 0", "seq_num=0&count=0", nil, 0, 200, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b bubble) {
				b.later(tc.appends...)
				w := b.read(time.Hour, tc.query)
				if w.status != tc.status {
					t.Errorf("status %d %s; want %d", w.status, &w.pending, tc.status)
				}
				if got := bytes.Count(w.pending.Bytes(), []byte(`"body"`)); got != tc.records {
					t.Errorf("%d records; want %d", got, tc.records)
				}
				if got := time.Since(w.start); got != tc.end {
					t.Errorf("the read took %v; want %v", got, tc.end)
				}
			})
		})
	}
}

func TestEventPings(t *testing.T) {
	inBubble(t, func(t *testing.T, b bubble) {
		b.later(12 * second)
		w := b.read(100*second, "seq_num=1&wait=15", "Accept", "text/event-stream")
		var got []string
		for _, p := range w.parts {
			line, _, _ := strings.Cut(string(p.Bytes), "\n")
			got = append(got, p.After.String()+" "+line)
		}
		want := []string{"0s event: ping", "10s event: ping", "12s event: batch", "22s event: ping", "27s data: [DONE]"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		ping := string(w.parts[1].Bytes)
		if !strings.HasPrefix(ping, `event: ping`+"\n"+`data: {"timestamp":9466848100`) || !strings.Contains(ping, `,"tail":{"seq_num":1,"timestamp":94668480`) {
			t.Errorf("ping = %q; want its time and the tail", ping)
		}
	})
}
