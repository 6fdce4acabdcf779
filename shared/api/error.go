package api

import (
	"errors"
	"fmt"

	"agentchat/shared/ident"
)

// An Error is a failure that the caller is told of, as a problem document (RFC 9457).
type Error struct {
	Code      Code
	Detail    string // a sentence for people: what was wrong and what would be right; may change
	Field     string // JSON pointer (RFC 6901) to the member of the body that is to blame, if one is
	Parameter string // name of the path segment, query parameter or header that is to blame, if one is
	Extensions

	cause error
}

// Extensions is what an error tells beside its code, detail and blame, as it
// stands in a problem document (RFC 9457, 3.2). Each family has members of its
// own, beside its types; what is zero is left out.
type Extensions struct {
	PositionExtensions
	MessageExtensions
	ChatExtensions
}

// Repeatable reports whether they name the id under which a request of unknown
// outcome may be repeated.
func (x Extensions) Repeatable() bool { return x.Message != "" || x.Claim != "" }

// Errorf returns an Error with a detail for people.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Detail: fmt.Sprintf(format, args...)}
}

// InvalidField returns an Error that blames the member of the body at pointer.
func InvalidField(pointer, format string, args ...any) *Error {
	e := Errorf(Invalid, format, args...)
	e.Field = pointer
	return e
}

// InvalidParameter returns an Error that blames a path segment, a query
// parameter or a header.
func InvalidParameter(name, format string, args ...any) *Error {
	e := Errorf(Invalid, format, args...)
	e.Parameter = name
	return e
}

// Because keeps the cause for the log; a client never sees it.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error returns the code, the detail and the cause, for a log.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Trait returns what follows from e: what follows from its code, but that a
// generation which changed is a conflict of streams where no position is blamed.
func (e *Error) Trait() Trait { return traitOf(e.Code, e.First == nil) }

// Trait returns what follows from p, as Error.Trait does.
func (p Problem) Trait() Trait { return traitOf(p.Code, p.First == nil) }

func traitOf(c Code, ofStream bool) Trait {
	if c == GenerationChanged && ofStream {
		return StreamChanged()
	}
	return c.Trait()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns the Error in err's tree; any other error is Internal, with
// err as its cause.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(Internal, "the server failed to answer; it logged why under this request id").Because(err)
}

// A Problem is an Error on the wire: application/problem+json (RFC 9457).
type Problem struct {
	Type      string `json:"type" doc:"about:blank: the code says more than a type could."`
	Title     string `json:"title" doc:"The code in words."`
	Status    int    `json:"status" doc:"The HTTP status."`
	Detail    string `json:"detail" doc:"What was wrong and what would be right, for people; may change."`
	Code      Code   `json:"code" doc:"What went wrong."`
	Field     string `json:"field,omitempty" doc:"JSON pointer to the member of the body that is to blame."`
	Parameter string `json:"parameter,omitempty" doc:"The path segment, query parameter or header that is to blame."`
	Extensions
	Outcome   string        `json:"outcome,omitempty" doc:"unknown: a write may have happened."`
	Retry     string        `json:"retry,omitempty" doc:"With outcome: what may be done. same id only: repeat the request with message_id, or claim_id. inspect: look whether it was done."`
	RequestID ident.Request `json:"request_id" doc:"The id of the request, as in X-Request-Id and in the server's log."`
}

// A Shape is a form of errors on the wire: Problem, and for the routes of a
// protocol that has one of its own, that. A route names it by a zero value.
type Shape interface {
	MediaType() string
	// Of returns e in this form, to be encoded in the answer to the request id, or
	// in the event that ends its stream.
	Of(e *Error, id ident.Request) any
}

var _ Shape = Problem{}

// MediaType returns that of RFC 9457.
func (Problem) MediaType() string { return "application/problem+json" }

// Of returns e.Problem(id).
func (Problem) Of(e *Error, id ident.Request) any { return e.Problem(id) }

// Problem returns what the client is shown of e.
func (e *Error) Problem(id ident.Request) Problem {
	t := e.Trait()
	p := Problem{
		Type: "about:blank", Title: t.Title, Status: t.Status, Detail: e.Detail, Code: e.Code,
		Field: e.Field, Parameter: e.Parameter, Extensions: e.Extensions, RequestID: id,
	}
	switch {
	case !t.Unknown:
	case e.Repeatable():
		p.Outcome, p.Retry = "unknown", "same id only"
	default:
		p.Outcome, p.Retry = "unknown", "inspect"
	}
	return p
}

// Unreachable says why one of many, an inbox or a chat, was left out, as a problem does.
type Unreachable struct {
	Type   string  `json:"type" doc:"about:blank: the code says more than a type could."`
	Title  string  `json:"title" doc:"The code in words."`
	Status int     `json:"status" doc:"The HTTP status that goes with the code."`
	Detail string  `json:"detail" doc:"What was wrong, for people; may change."`
	Code   Code    `json:"code" doc:"What went wrong."`
	Tail   *uint64 `json:"tail,omitempty" doc:"With cursor_beyond_tail: the tail."`
}

// Unreachable returns e as it is told of one inbox, or chat, among many.
func (e *Error) Unreachable() Unreachable {
	t := e.Code.Trait()
	u := Unreachable{Type: "about:blank", Title: t.Title, Status: t.Status, Detail: e.Detail, Code: e.Code}
	if e.Tail != nil {
		u.Tail = &e.Tail.At
	}
	return u
}
