package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"agentchat/shared/api"
	"agentchat/shared/stream"
	"agentchat/shared/strictjson"
)

const (
	keptBuffer = 1 << 20 // a larger buffer is not kept for the next answer
	retryAfter = "1"     // seconds: what is away comes back in a moment, or not soon
)

func (c *call) answer(v any) error {
	status, header := http.StatusOK, http.Header(nil)
	if s, ok := v.(interface{ Status() (int, http.Header) }); ok {
		status, header = s.Status()
	}
	buf := c.buffer()
	defer c.release(buf)
	if a, ok := v.(interface{ AppendJSON([]byte) []byte }); ok {
		*buf = a.AppendJSON(*buf)
	} else {
		var err error
		if *buf, err = strictjson.Append(*buf, v); err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
	}
	maps.Copy(c.w.Header(), header)
	keep := "no-store"
	if n := c.endpoint.route.Fresh; n > 0 {
		keep = fmt.Sprintf("public, max-age=%d", n)
	}
	c.send(status, "application/json", keep, *buf)
	return nil
}

func (c *call) noContent() error {
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// send writes a whole answer, which may be kept as keep says. A client that is gone is no fault of anybody's.
func (c *call) send(status int, contentType, keep string, body []byte) {
	// One array holds the values, which Header.Set would allocate one by one.
	v := [...]string{contentType, strconv.Itoa(len(body)), keep, "nosniff"}
	h := c.w.Header()
	h["Content-Type"], h["Content-Length"], h["Cache-Control"], h["X-Content-Type-Options"] = v[0:1:1], v[1:2:2], v[2:3:3], v[3:4:4]
	c.writeWithin(writeTime)
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body)
	}
}

// problem answers with what err means.
func (c *call) problem(err error) {
	e := c.note(err)
	h := c.w.Header()
	switch t := e.Trait(); {
	case t.Retry:
		h.Set("Retry-After", retryAfter)
	case e.Code == api.MissingCredential:
		h.Set("WWW-Authenticate", `Bearer realm="agent-chat"`)
	case e.Code == api.UnknownCredential:
		h.Set("WWW-Authenticate", `Bearer realm="agent-chat", error="invalid_token"`)
	}
	buf := c.buffer()
	defer c.release(buf)
	*buf = c.appendProblem(*buf, e)
	c.send(e.Trait().Status, c.shape().MediaType(), "no-store", *buf)
}

func (c *call) appendProblem(b []byte, e *api.Error) []byte {
	out, err := strictjson.Append(b, c.shape().Of(e, c.id))
	if err != nil {
		panic("serve: a problem document can't be encoded: " + err.Error())
	}
	return out
}

// shape returns how errors of the call stand on the wire.
func (c *call) shape() api.Shape {
	if c.endpoint != nil && c.endpoint.route.Shape != nil {
		return c.endpoint.route.Shape
	}
	return api.Problem{}
}

// note keeps for the log what the call ended with, and returns what the caller
// is told of it.
func (c *call) note(err error) *api.Error {
	e := c.explain(err)
	c.code = e.Code
	switch {
	case errors.Is(err, context.Canceled) && c.r.Context().Err() != nil:
		c.ended = endedClient
	case e.Trait().Status >= http.StatusInternalServerError:
		c.cause = err
	}
	return e
}

// explain returns err as the caller is told of it. A store's error that reached
// this far means for the operation what it means for the call of the store that
// returned it.
func (c *call) explain(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	safe := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	switch {
	case errors.Is(err, stream.ErrUnavailable), ended && safe:
		return api.Errorf(api.Unavailable, "the store does not answer; try again").Because(err)
	case errors.Is(err, stream.ErrUnknown), ended:
		return api.Errorf(api.OutcomeUnknown, "the store did not say in time whether this was done; look before doing it again").Because(err)
	case errors.Is(err, stream.ErrCorrupt):
		return api.Errorf(api.StateLost, "what is stored is not what was written; an operator must look").Because(err)
	}
	return api.AsError(err)
}

func (c *call) buffer() *[]byte { return c.bufs.Get().(*[]byte) }

func (c *call) release(b *[]byte) {
	if cap(*b) > keptBuffer {
		return
	}
	*b = (*b)[:0]
	c.bufs.Put(b)
}
