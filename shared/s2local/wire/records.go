package wire

import (
	"context"
	"net/http"
	"strings"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

func (s *Server) tail(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	tail, err := s.engine.Tail(r.Context(), basin, name)
	if err != nil {
		return err
	}
	writeBytes(w, http.StatusOK, mimeJSON, append(appendPosition([]byte(`{"tail":`), tail), '}'))
	return nil
}

// append answers an append, in one piece or as a session.
func (s *Server) append(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	if mimeOf(r.Header.Get("Content-Type")) == mimeSession {
		return s.appendSession(w, r, basin, name)
	}
	b, err := s.body(w, r)
	if err != nil {
		return err
	}
	in, err := inputOf(r.Header, b)
	if err != nil {
		return err
	}
	if err := sendable(in); err != nil {
		return err
	}
	ack, err := s.engine.Append(r.Context(), basin, name, in)
	if err != nil {
		return err
	}
	if mimeOf(r.Header.Get("Accept")) == mimeProto {
		writeBytes(w, http.StatusOK, mimeProto, ackProto(nil, ack))
		return nil
	}
	writeBytes(w, http.StatusOK, mimeJSON, ackJSON(nil, ack))
	return nil
}

func inputOf(h http.Header, b []byte) (engine.Input, error) {
	if mimeOf(h.Get("Content-Type")) == mimeProto {
		return inputOfProto(b)
	}
	f, err := formatOf(h)
	if err != nil {
		return engine.Input{}, err
	}
	return inputOfJSON(b, f)
}

// read answers a read: as a session, as server-sent events, or in one piece.
func (s *Server) read(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	q, err := parseRead(r.URL.RawQuery)
	if err != nil {
		return err
	}
	accept := mimeOf(r.Header.Get("Accept"))
	switch {
	case mimeOf(r.Header.Get("Content-Type")) == mimeSession:
		return s.readSession(w, r, basin, name, q)
	case accept == mimeEvents:
		return s.readEvents(w, r, basin, name, q)
	}
	f, err := formatOf(r.Header)
	if err != nil {
		return err
	}
	reading, err := s.reading(r.Context(), basin, name, q.unary())
	if err != nil {
		return err
	}
	page, err := s.collect(r.Context(), reading)
	if err != nil {
		return err
	}
	if accept == mimeProto {
		writeBytes(w, http.StatusOK, mimeProto, batchProto(nil, page.entries, page.tail))
		return nil
	}
	writeBytes(w, http.StatusOK, mimeJSON, batchJSON(nil, f, page.entries, page.tail))
	return nil
}

// collect reads what there is, up to the bounds; at the tail it waits for one
// more batch, if the query says so, and returns with that. The end of the
// server ends the wait.
func (s *Server) collect(ctx context.Context, r *reading) (part, error) {
	var page part
	waited := false
	for p, err := range r.parts(ctx, s.draining) {
		if err != nil && len(page.entries) == 0 {
			return part{}, err
		}
		if err != nil {
			return page, nil // what was read is right; the next call meets the error
		}
		page.entries = append(page.entries, p.entries...)
		page.tail = p.tail
		if waited && len(p.entries) > 0 || p.tail != nil && len(page.entries) > 0 {
			break
		}
		waited = true
	}
	return page, nil
}

// The media types of records.
const (
	mimeJSON    = "application/json"
	mimeProto   = "application/protobuf"
	mimeSession = "s2s/proto"
	mimeEvents  = "text/event-stream"
)

// mimeOf returns the first media type of a header, without parameters.
func mimeOf(header string) string {
	first, _, _ := strings.Cut(header, ",")
	first, _, _ = strings.Cut(first, ";")
	mime := strings.ToLower(strings.TrimSpace(first))
	if mime == "application/x-protobuf" {
		return mimeProto
	}
	return mime
}

// sendable refuses the record that could be stored and then never be read in a
// session: headers of a few bytes take twice their metered size in protobuf, and
// a frame has a limit.
func sendable(in engine.Input) error {
	for i, r := range in.Records {
		e := stream.Entry{Seq: ^uint64(0), Timestamp: ^stream.Timestamp(0), Record: r}
		if size := entrySize(&e); size > maxFrame-64 {
			return faultf(invalid, "record %d takes %d bytes on the wire, more than a frame of %d", i, size, maxFrame)
		}
	}
	return nil
}
