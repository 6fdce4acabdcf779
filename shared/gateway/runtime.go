package gateway

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxFailure bounds what is kept of a function's own words on why it failed.
const maxFailure = 4 << 10

// routes is the Runtime API.
func (s *sandbox) routes() http.Handler {
	const api = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api+"invocation/next", s.next)
	mux.HandleFunc("POST "+api+"invocation/{id}/response", s.response)
	mux.HandleFunc("POST "+api+"invocation/{id}/error", s.fail)
	mux.HandleFunc("POST "+api+"init/error", s.initError)
	return mux
}

func (s *sandbox) next(w http.ResponseWriter, r *http.Request) {
	select {
	case s.asked <- struct{}{}:
	default: // it has asked, broken off, and asks again
	}
	select {
	case inv := <-s.work:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:local")
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(inv.event) // if that fails the process is gone, which died tells
	case <-r.Context().Done():
	}
}

// response hands the answer over while it comes, and returns when it was taken.
func (s *sandbox) response(w http.ResponseWriter, r *http.Request) {
	inv := s.take(r.PathValue("id"))
	if inv == nil {
		unknownID(w)
		return
	}
	a := &answer{
		contentType: r.Header.Get("Content-Type"), body: r.Body, taken: make(chan struct{}),
		trailer: func() string { return r.Trailer.Get("Lambda-Runtime-Function-Error-Type") },
	}
	inv.answer <- a
	<-a.taken
	w.WriteHeader(http.StatusAccepted)
}

func (s *sandbox) fail(w http.ResponseWriter, r *http.Request) {
	inv := s.take(r.PathValue("id"))
	if inv == nil {
		unknownID(w)
		return
	}
	inv.failed <- fmt.Errorf("the function failed: %s", words(r))
	w.WriteHeader(http.StatusAccepted)
}

func (s *sandbox) initError(w http.ResponseWriter, r *http.Request) {
	text := words(r)
	s.mu.Lock()
	s.failed = text
	s.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
}

func words(r *http.Request) string {
	b, _ := io.ReadAll(io.LimitReader(r.Body, maxFailure)) // for the log: what came is enough
	return string(b)
}

func unknownID(w http.ResponseWriter) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"errorType":"InvalidRequestID"}`) // it is the function's business to read it
}

// newID returns the id of an invocation, in the form that AWS gives it.
func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic("gateway: no randomness: " + err.Error())
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
