package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentchat/shared/stream"
)

// readEvents answers a read as server-sent events: "batch" with an id to go on
// from, "ping" as the heartbeat, "error" with what would have been the body of a
// refusal, and data "[DONE]" when the read ended by itself.
func (s *Server) readEvents(w http.ResponseWriter, r *http.Request, basin, name string, q readQuery) error {
	f, err := formatOf(r.Header)
	if err != nil {
		return err
	}
	var sent eventID
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if sent, err = parseEventID(last); err != nil {
			return err
		}
		q = sent.resume(q)
	}
	ctx := r.Context()
	reading, err := s.reading(ctx, basin, name, q)
	if err != nil {
		return err
	}
	streamHeaders(w, mimeEvents)
	w.WriteHeader(http.StatusOK)
	out := &session{w: w, control: http.NewResponseController(w)}
	_ = out.control.Flush() // the client is gone
	for p, err := range reading.parts(ctx, s.draining) {
		switch {
		case err != nil:
			out.event("event: error\n", s.told(ctx, err).body())
			_ = out.send() // the client is gone
			return nil
		case len(p.entries) == 0:
			out.event("event: ping\n", ping(*p.tail, time.Now()))
		default:
			sent.add(p.entries)
			out.event("event: batch\nid: "+sent.String()+"\n", batchJSON(nil, f, p.entries, p.tail))
		}
		if out.send() != nil {
			return nil
		}
	}
	out.event("", []byte("[DONE]"))
	_ = out.send() // the client is gone
	return nil
}

// event makes buf one event. JSON has no line breaks of its own.
func (o *session) event(fields string, data []byte) {
	o.buf = append(append(o.buf[:0], fields...), "data: "...)
	o.buf = append(append(o.buf, data...), "\n\n"...)
}

func ping(tail stream.Position, now time.Time) []byte {
	b := strconv.AppendInt([]byte(`{"timestamp":`), now.UnixMilli(), 10)
	return append(appendPosition(append(b, `,"tail":`...), tail), '}')
}

// An eventID says where a reader is: the last position it got, and how much of
// its bounds it has used up, since it resumes with the query that it began with.
type eventID struct{ seq, count, bytes uint64 }

func (id eventID) String() string {
	b := strconv.AppendUint(nil, id.seq, 10)
	b = strconv.AppendUint(append(b, ','), id.count, 10)
	return string(strconv.AppendUint(append(b, ','), id.bytes, 10))
}

func parseEventID(s string) (eventID, error) {
	fields := strings.Split(s, ",")
	var n [3]uint64
	if len(fields) != len(n) {
		return eventID{}, faultf(badHeader, "last-event-id is %q, not position,count,bytes", s)
	}
	for i, f := range fields {
		var err error
		if n[i], err = strconv.ParseUint(f, 10, 64); err != nil {
			return eventID{}, faultf(badHeader, "last-event-id is %q, not position,count,bytes", s)
		}
	}
	return eventID{n[0], n[1], n[2]}, nil
}

func (id *eventID) add(entries []stream.Entry) {
	for _, e := range entries {
		id.seq = e.Seq
		id.count++
		id.bytes += uint64(e.Metered()) // a length
	}
}

// resume returns q behind id, with what is left of its bounds.
func (id eventID) resume(q readQuery) readQuery {
	next := id.seq + min(1, ^id.seq)
	q.seq, q.timestamp, q.offset = &next, nil, nil
	q.count, q.bytes = less(q.count, id.count), less(q.bytes, id.bytes)
	return q
}

func less(n *uint64, used uint64) *uint64 {
	if n == nil {
		return nil
	}
	left := *n - min(*n, used)
	return &left
}
