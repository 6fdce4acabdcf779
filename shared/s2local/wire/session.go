package wire

import (
	"net/http"

	"agentchat/shared/stream"
)

// A session is the answering side of an S2S session: frames, each sent at once.
type session struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

// beginSession sends the head of the answer, so that the client knows that it
// has a session before there is anything to say.
func (s *Server) beginSession(w http.ResponseWriter) *session {
	streamHeaders(w, mimeSession)
	o := &session{w: w, control: http.NewResponseController(w)}
	_ = o.control.EnableFullDuplex() // HTTP/2 always is
	w.WriteHeader(http.StatusOK)
	_ = o.control.Flush() // see write
	return o
}

func streamHeaders(w http.ResponseWriter, mime string) {
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// write sends what is in buf. An error means that the client is gone.
func (o *session) write(flush bool) error {
	if _, err := o.w.Write(o.buf); err != nil {
		return err
	}
	if !flush {
		return nil
	}
	return o.control.Flush()
}

// end sends the terminal frame. A session never just stops with something left
// to say: the SDKs take a clean end of the body for a success.
func (o *session) end(f *fault) {
	o.buf = appendTerminal(o.buf[:0], f)
	_ = o.write(true) // the client is gone
}

// readSession answers a read as frames, one ReadBatch each.
func (s *Server) readSession(w http.ResponseWriter, r *http.Request, basin, name string, q readQuery) error {
	ctx := r.Context()
	reading, err := s.reading(ctx, basin, name, q)
	if err != nil {
		return err
	}
	out := s.beginSession(w)
	for p, err := range reading.parts(ctx, s.draining) {
		if err != nil {
			out.end(s.told(ctx, err))
			return nil
		}
		if out.send(p.entries, p.tail) != nil {
			return nil
		}
	}
	return nil
}

// send sends entries as one frame, or as several if they would not fit: a page
// is measured as S2 meters it, and many small headers are longer on the wire.
func (o *session) send(entries []stream.Entry, tail *stream.Position) error {
	var at int
	o.buf, at = beginFrame(o.buf[:0])
	o.buf = batchProto(o.buf, entries, tail)
	if endFrame(o.buf, at) {
		return o.write(true)
	}
	half := len(entries) / 2
	if err := o.send(entries[:half], nil); err != nil {
		return err
	}
	return o.send(entries[half:], tail)
}
