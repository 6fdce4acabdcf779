package client

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
)

// ErrUnknown is in the tree of every error after which a write may have
// happened, or may still. Repeat it with the same id only.
var ErrUnknown = errors.New("outcome unknown")

// An Error is an answer of the server other than success. Problem is what it
// said of itself; if it was no problem document (a proxy answered, say), only
// its Title and Status are set.
type Error struct {
	Op         string
	Status     int
	Problem    api.Problem
	RetryAfter time.Duration // how long to wait before a repeat; 0: it did not say
	Write      bool          // the call was to change something
}

// Error returns the operation, the code and the detail.
func (e *Error) Error() string {
	p := e.Problem
	s := fmt.Sprintf("%s: %d %s", e.Op, e.Status, p.Title)
	if p.Code != "" {
		s = fmt.Sprintf("%s: %s", e.Op, p.Code)
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	if p.RequestID != "" {
		s += " (request " + string(p.RequestID) + ")"
	}
	return s
}

// Is reports whether target is ErrUnknown and the write may have happened: the
// server says so, or something before the server failed.
func (e *Error) Is(target error) bool {
	return target == ErrUnknown && e.Write && (e.Problem.Outcome == "unknown" || e.Status >= 500 && e.Problem.Code == "")
}

// Permanent reports whether the same call would be refused again.
func (e *Error) Permanent() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return true
	}
	return e.Status < 500
}

// A ConnError is a call without an answer.
type ConnError struct {
	Op    string
	Sent  bool // the server may have got the request
	Write bool // the call was to change something
	Err   error
}

// Error returns the operation, how far it came, and the cause.
func (e *ConnError) Error() string {
	if e.Sent {
		return e.Op + ": connection lost: " + e.Err.Error()
	}
	return e.Op + ": no connection: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ConnError) Unwrap() error { return e.Err }

// Is reports whether target is ErrUnknown and a write may have happened.
func (e *ConnError) Is(target error) bool { return target == ErrUnknown && e.Sent && e.Write }

// errorOf returns the Error that res is, reading its body.
func errorOf(r request, res *http.Response) *Error {
	e := &Error{Op: r.op, Status: res.StatusCode, Write: r.writes(), RetryAfter: retryAfter(res.Header)}
	if t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && strings.HasSuffix(t, "json") {
		b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err == nil && json.Unmarshal(b, &e.Problem) != nil {
			e.Problem = api.Problem{}
		}
	}
	if e.Problem.Title == "" {
		e.Problem.Title = http.StatusText(e.Status)
	}
	e.Problem.Status = e.Status
	if to := res.Header.Get("Location"); e.Status/100 == 3 && to != "" {
		e.Problem.Detail = fmt.Sprintf("the server redirects to %q; if that is right, use that URL", to)
	}
	return e
}

// retryAfter returns what Retry-After asks for, in seconds or until a date (RFC
// 9110, 10.2.3); 0 if there is none.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second // 31 bits
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // both of the server's clock
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}
