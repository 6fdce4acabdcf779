package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/sse"
)

// The times of a stream.
const (
	firstWait = 800 * time.Millisecond // for the first batch, which decides on the status
	beat      = api.HeartbeatSeconds * time.Second
	margin    = 2 * time.Second // before the host's deadline
	reconnect = 1000            // milliseconds: what a client is told to wait before it comes back
	spread    = 4000            // milliseconds over which clients sent away come back
)

// Why a stream ended, in the log; streaming while it has not.
const (
	streaming   = "streaming"
	endedAge    = "age"
	endedDrain  = "draining"
	endedSource = "source"
	endedFault  = "fault"
	endedClient = "client"
	endedHead   = "head"
)

// wantsStream reports whether the request asks for events.
func (c *call) wantsStream() bool {
	if follow, ok := c.query["follow"]; ok {
		return follow[0] == "true"
	}
	for _, v := range c.r.Header["Accept"] {
		if acceptsEvents(v) {
			return true
		}
	}
	return false
}

// stream answers with events until the source, the client, its credential, the
// process or the stream's time ends. It returns an error only before the status line.
func (c *call) stream(ctx context.Context, follow func(context.Context) iter.Seq2[[]sse.Event, error]) error {
	if c.draining() {
		return c.sendAway()
	}
	var end <-chan time.Time
	if d := c.lifetime(ctx); d > 0 {
		end = time.After(d)
	}
	ctx, stop := c.guard(ctx)
	src := pump(ctx, follow)
	defer func() { stop(); <-src.done }()

	var b batch
	select {
	case b = <-src.batches:
	case <-time.After(firstWait):
	case <-c.env.Draining:
		return c.sendAway()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.err != nil {
		return b.err
	}
	c.openStream()
	if c.r.Method == http.MethodHead {
		c.ended = endedHead
		return nil
	}
	c.comment("connected")
	quiet := time.NewTimer(beat)
	defer quiet.Stop()
	for c.take(ctx, src, b) {
		if len(b.events) > 0 {
			quiet.Reset(beat)
		}
		b = batch{}
		select {
		case b = <-src.batches:
		case <-quiet.C:
			c.comment("keep-alive")
			quiet.Reset(beat)
		case <-end:
			c.comment("end")
			c.ended = endedAge
		case <-c.env.Draining:
			c.say(c.goodbye())
			c.ended = endedDrain
		case <-ctx.Done():
		}
	}
	return nil
}

// lifetime returns how long a stream may go on; zero: no bound.
func (c *call) lifetime(ctx context.Context) time.Duration {
	d := c.env.Config.StreamMaxAge
	if deadline, ok := ctx.Deadline(); ok {
		if left := max(time.Until(deadline)-margin, 1); d == 0 || left < d {
			return left
		}
	}
	return d
}

// openStream sends the head of a stream.
func (c *call) openStream() {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	c.ended = streaming
	c.w.WriteHeader(http.StatusOK)
}

// take writes a batch and lets the source go on; it reports whether the stream does.
func (c *call) take(ctx context.Context, src *source, b batch) bool {
	switch {
	case c.ended != streaming || c.left(ctx):
		return false
	case b.err != nil:
		c.endWith(b.err)
		return false
	case b.over:
		c.comment("end")
		c.ended = endedSource
		return false
	case b.from:
		c.writeEvents(ctx, b.events)
		src.goOn()
	}
	return c.ended == streaming
}

// left reports whether the client is gone, or its credential, and ends the stream if so.
func (c *call) left(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if err := refused(ctx); err != nil {
		c.endWith(err)
	} else {
		c.ended = endedClient
	}
	return true
}

// writeEvents writes each event at once and whole, then flushes. One that is
// taken slowly may be the last.
func (c *call) writeEvents(ctx context.Context, events []sse.Event) {
	if len(events) == 0 {
		return
	}
	buf := c.buffer()
	defer c.release(buf)
	for _, e := range events {
		if c.left(ctx) {
			return
		}
		if !c.retried {
			// Inside an event, because a block with nothing else is an empty event to many clients.
			e.Retry, c.retried = reconnect, true
		}
		var err error
		if *buf, err = e.Append((*buf)[:0]); err != nil {
			c.endWith(err)
			return
		}
		if !c.write(*buf) {
			return
		}
	}
	c.flush()
}

// endWith ends a stream with an event that says why. It has no id, so that the
// client resumes behind the last envelope.
func (c *call) endWith(err error) {
	e := c.note(err)
	c.ended = endedFault
	data := c.appendProblem(nil, e)
	b, err := sse.Event{Name: "problem", Data: data}.Append(nil)
	if err != nil {
		panic("serve: a problem event can't be encoded: " + err.Error())
	}
	c.say(b)
}

// comment writes a line that is no event.
func (c *call) comment(text string) { c.say(sse.AppendComment(nil, text)) }

func (c *call) say(lines []byte) {
	if c.write(lines) {
		c.flush()
	}
}

// write reports whether the client took b; if not, the stream has ended. A
// client that stopped reading is gone after writeTime.
func (c *call) write(b []byte) bool {
	c.writeWithin(writeTime)
	if _, err := c.w.Write(b); err != nil {
		c.ended = endedClient
		return false
	}
	return true
}

func (c *call) flush() {
	if err := c.out.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.ended = endedClient
	}
}

func (c *call) draining() bool {
	select {
	case <-c.env.Draining:
		return true
	default:
		return false
	}
}

// sendAway answers a stream that can't begin now. It is a 200, because several
// clients never come back after a 503.
func (c *call) sendAway() error {
	c.openStream()
	if c.r.Method != http.MethodHead {
		c.say(c.goodbye())
	}
	c.ended = endedDrain
	return nil
}

// goodbye returns the lines that tell a client to come back, each at a time of
// its own. They end without a blank line, which would make an event of them.
func (c *call) goodbye() []byte {
	var b [2]byte
	if _, err := io.ReadFull(c.env.Rand, b[:]); err != nil {
		panic("serve: no randomness: " + err.Error())
	}
	wait := reconnect + int(binary.BigEndian.Uint16(b[:]))%spread
	return sse.AppendComment(fmt.Appendf(nil, "retry: %d\n", wait), "draining")
}

func acceptsEvents(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		t, params, err := mime.ParseMediaType(part)
		if err != nil || t != "text/event-stream" {
			continue
		}
		q, given := params["q"]
		if v, err := strconv.ParseFloat(q, 64); !given || err != nil || v > 0 {
			return true
		}
	}
	return false
}
