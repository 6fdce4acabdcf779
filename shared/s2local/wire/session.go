package wire

import (
	"errors"
	"net/http"

	"agentchat/shared/stream"
)

// A session is the answering side of an S2S session: frames, each sent at once.
type session struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
	written bool // and not flushed
}

// beginSession sends the head of the answer, so that the client knows that it
// has a session before there is anything to say.
func (s *Server) beginSession(w http.ResponseWriter) *session {
	streamHeaders(w, mimeSession)
	o := &session{w: w, control: http.NewResponseController(w)}
	_ = o.control.EnableFullDuplex() // HTTP/2 always is
	w.WriteHeader(http.StatusOK)
	_ = o.control.Flush() // the client is gone
	return o
}

func streamHeaders(w http.ResponseWriter, mime string) {
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

// write writes what is in buf; flush sends what was written. An error of either
// means that the client is gone.
func (o *session) write() error {
	o.written = true
	_, err := o.w.Write(o.buf)
	return err
}

func (o *session) flush() error {
	if !o.written {
		return nil
	}
	o.written = false
	if err := o.control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// send is both.
func (o *session) send() error {
	if err := o.write(); err != nil {
		return err
	}
	return o.flush()
}

// end sends the terminal frame. A session never just stops with something left
// to say: the SDKs take a clean end of the body for a success.
func (o *session) end(f *fault) {
	o.buf = appendTerminal(o.buf[:0], f)
	_ = o.send() // the client is gone
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
		if out.batch(p.entries, p.tail) != nil {
			return nil
		}
	}
	return nil
}

// batch sends entries as one frame, or as several if they would not fit: a page
// is measured as S2 meters it, and many small headers are longer on the wire.
func (o *session) batch(entries []stream.Entry, tail *stream.Position) error {
	var at int
	o.buf, at = beginFrame(o.buf[:0])
	o.buf = batchProto(o.buf, entries, tail)
	if endFrame(o.buf, at) {
		return o.send()
	}
	half := len(entries) / 2
	if err := o.batch(entries[:half], nil); err != nil {
		return err
	}
	return o.batch(entries[half:], tail)
}
