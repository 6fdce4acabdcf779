package apitest

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// A stream is one that a script follows.
type stream struct {
	target string
	head   *answer
	items  chan item
	cut    context.CancelFunc
	lastID string // of the last whole event
}

// follow NAME PATH
func follow(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "follow NAME PATH", neg || len(args) != 2)
	s := of(ts)
	if s.streams[args[0]] != nil {
		ts.Fatalf("follow %s: there is one of that name already", args[0])
	}
	if st := s.open(ts, args[1], ""); st != nil {
		s.streams[args[0]] = st
	}
}

// cut NAME
func cut(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "cut NAME", neg || len(args) != 1)
	following(ts, args[0]).cut()
}

// resume NAME [PATH]
func resume(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "resume NAME [PATH]", neg || len(args) < 1 || len(args) > 2)
	before := following(ts, args[0])
	before.cut()
	target := before.target
	if len(args) == 2 {
		target = args[1]
	}
	s := of(ts)
	delete(s.streams, args[0])
	if st := s.open(ts, target, before.lastID); st != nil {
		s.streams[args[0]] = st
	}
}

func following(ts *testscript.TestScript, name string) *stream {
	st := of(ts).streams[name]
	if st == nil {
		ts.Fatalf("nothing follows as %s", name)
	}
	return st
}

// open makes the request of a stream. It returns nil if that was answered in
// another way, which is then the last answer.
func (s *script) open(ts *testscript.TestScript, target, lastID string) *stream {
	ctx, cancel := context.WithCancel(s.ctx)
	s.extra = append([]pair{}, s.extra...)
	s.defaultHeader("Accept", "text/event-stream")
	if lastID != "" {
		s.defaultHeader("Last-Event-Id", lastID)
	}
	r := s.prepare(ctx, ts, []string{http.MethodGet, target})
	late := time.AfterFunc(patience, cancel)
	started := time.Now()
	resp, err := s.client.Do(r)
	if !late.Stop() || err != nil {
		cancel()
		ts.Fatalf("follow %s: %v", target, err)
	}
	head := &answer{request: "GET " + target, status: resp.StatusCode, header: resp.Header, took: time.Since(started)}
	s.last = head
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); got != "text/event-stream" {
		defer cancel()
		defer resp.Body.Close()
		if head.body, err = io.ReadAll(resp.Body); err == nil {
			err = s.conforms(r, head)
		}
		ts.Check(err)
		return nil
	}
	if _, err := ident.ParseRequest(resp.Header.Get("X-Request-Id")); err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		ts.Fatalf("follow %s: %v\n%s", target, err, head)
	}
	st := &stream{target: target, head: head, items: make(chan item), cut: cancel, lastID: lastID}
	go st.read(ctx, resp.Body) // ends with ctx, or with the stream
	return st
}

// defaultHeader adds a header to the next request if the script named none.
func (s *script) defaultHeader(name, value string) {
	for _, p := range s.extra {
		if p.name == name {
			return
		}
	}
	s.extra = append(s.extra, pair{name: name, value: value})
}

// read hands on what comes, and in the end an item with its error: io.EOF for
// a clean end.
func (st *stream) read(ctx context.Context, body io.ReadCloser) {
	defer close(st.items)
	defer body.Close()
	for it := range items(body, eventsOf(st.target)) {
		select {
		case st.items <- it:
		case <-ctx.Done():
			return
		}
	}
}

// eventsOf returns the names that the events of a stream may have.
func eventsOf(target string) []string {
	path, _, _ := strings.Cut(target, "?")
	segments := strings.Split(path, "/")
	for _, r := range route.Table {
		fits := func(want, got string) bool { return want == got || strings.HasPrefix(want, "{") }
		if r.Kind == route.Events && slices.EqualFunc(strings.Split(r.Path, "/"), segments, fits) {
			return r.Stream.Names()
		}
	}
	return nil
}

// next waits for the next item.
func (st *stream) next(ts *testscript.TestScript) item {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case it, ok := <-st.items:
		if !ok {
			ts.Fatalf("%s: it was cut, or has ended, already", st.target)
		}
		return it
	case <-late.C:
		ts.Fatalf("%s: nothing came for %v", st.target, patience)
	}
	panic("not reached")
}

// nextEvent waits for the next item that is no comment.
func (st *stream) nextEvent(ts *testscript.TestScript) item {
	for {
		if it := st.next(ts); it.kind != comments {
			return it
		}
	}
}

// event NAME [ID]
func event(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "event NAME [ID]", neg || len(args) < 1 || len(args) > 2)
	st := following(ts, args[0])
	begun := time.Now()
	it := st.nextEvent(ts)
	if it.kind == problems || it.kind == ends {
		ts.Fatalf("%s: %s; want an event", st.target, it)
	}
	if len(args) == 2 && it.id != args[1] {
		ts.Fatalf("%s: id = %s; want %s\n%s", st.target, it.id, args[1], it.data)
	}
	st.lastID = it.id
	of(ts).last = &answer{request: "event of " + st.target, status: st.head.status, header: st.head.header, body: it.data, took: time.Since(begun)}
	ts.Check(of(ts).leak("the event", string(it.data)))
}

// problem NAME CODE
func problem(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "problem NAME CODE", neg || len(args) != 2)
	st := following(ts, args[0])
	it := st.nextEvent(ts)
	if it.kind != problems {
		ts.Fatalf("%s: %s; want a problem", st.target, it)
	}
	of(ts).last = &answer{request: "event of " + st.target, status: st.head.status, header: st.head.header, body: it.data}
	if p, err := parseProblem(it.data); err != nil || p.Code != api.Code(args[1]) {
		ts.Fatalf("%s: problem %s, %v; want %s\n%s", st.target, p.Code, err, args[1], it.data)
	}
	closed(ts, false, args[:1])
}

// comment NAME [TEXT]
func comment(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "comment NAME [TEXT]", neg || len(args) < 1 || len(args) > 2)
	st := following(ts, args[0])
	it := st.next(ts)
	if it.kind != comments || len(args) == 2 && string(it.data) != args[1] {
		ts.Fatalf("%s: %s; want the comment %q", st.target, it, args[1:])
	}
}

// closed NAME
func closed(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "closed NAME", neg || len(args) != 1)
	st := following(ts, args[0])
	if it := st.nextEvent(ts); it.kind != ends || it.err != io.EOF { //nolint:errorlint // a reader's bare io.EOF is the clean end
		ts.Fatalf("%s: %s; want its end", st.target, it)
	}
}

// behind returns where to go on behind a delivery: its own cursor, if it is one of
// the monitor's, else the next position.
func behind(delivery []byte) (string, error) {
	if _, err := at(delivery, "/inbox"); err == nil {
		return stringAt(delivery, "/cursor")
	}
	seq, err := at(delivery, "/seq_num")
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(string(seq), 10, 64)
	if err != nil {
		return "", fmt.Errorf("seq_num: %w", err)
	}
	return strconv.FormatUint(n+1, 10), nil
}
