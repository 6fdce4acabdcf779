package apitest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// as WHO
func as(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "as WHO", neg || len(args) != 1)
	of(ts).who = args[0]
}

// with NAME [VALUE]
func with(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "with NAME [VALUE]", neg || len(args) < 1 || len(args) > 2)
	p := pair{name: http.CanonicalHeaderKey(args[0]), absent: len(args) == 1}
	if !p.absent {
		p.value = args[1]
	}
	s := of(ts)
	s.extra = append(s.extra, p)
}

var repeated = regexp.MustCompile(`(?s)^(\d+)\*(.*)$`)

// make FILE PART...
func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "make FILE PART...", neg || len(args) < 2)
	var b []byte
	for _, part := range args[1:] {
		if m := repeated.FindStringSubmatch(part); m != nil {
			n, err := strconv.Atoi(m[1])
			ts.Check(err)
			b = append(b, strings.Repeat(m[2], n)...)
		} else if digits, ok := strings.CutPrefix(part, "hex:"); ok {
			raw, err := hex.DecodeString(digits)
			ts.Check(err)
			b = append(b, raw...)
		} else {
			b = append(b, part...)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// http METHOD PATH [BODY]
func request(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "http METHOD PATH [BODY]", neg || len(args) < 2 || len(args) > 3)
	s := of(ts)
	s.last = nil
	s.last = s.do(s.prepare(s.ctx, ts, args)).must(ts)
}

// GET PATH, POST PATH [BODY] and so on.
func method(name string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		request(ts, neg, slices.Insert(args, 0, name))
	}
}

// begin NAME METHOD PATH [BODY]
func begin(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "begin NAME METHOD PATH [BODY]", neg || len(args) < 3 || len(args) > 4)
	s := of(ts)
	if s.pending[args[0]] != nil {
		ts.Fatalf("begin %s: there is one of that name already", args[0])
	}
	answer := make(chan outcome, 1)
	s.pending[args[0]] = answer
	r := s.prepare(s.ctx, ts, args[1:])
	go func() { answer <- s.do(r) }() // ends with s.ctx
}

// finish NAME
func finish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "finish NAME", neg || len(args) != 1)
	s := of(ts)
	answer := s.pending[args[0]]
	if answer == nil {
		ts.Fatalf("finish %s: nothing of that name was begun", args[0])
	}
	delete(s.pending, args[0])
	s.last = (<-answer).must(ts)
}

// settle
func settle(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "settle", neg || len(args) != 0)
	s := of(ts)
	known := time.NewTimer(s.service.Settle)
	defer known.Stop()
	select {
	case <-known.C:
	case <-s.ctx.Done():
	}
}

// prepare returns the request of METHOD PATH [BODY], and forgets the headers
// that were meant for it.
func (s *script) prepare(ctx context.Context, ts *testscript.TestScript, args []string) *http.Request {
	var body []byte
	if len(args) == 3 {
		body = []byte(args[2])
		if file, ok := strings.CutPrefix(args[2], "@"); ok {
			body = []byte(ts.ReadFile(file))
		}
		if body == nil {
			body = []byte{}
		}
	}
	r, err := s.request(ctx, args[0], args[1], body)
	ts.Check(err)
	s.extra = nil
	return r
}

// request returns a request as s.who, with s.extra. The target goes onto the
// wire as it is. A nil body is none.
func (s *script) request(ctx context.Context, method, target string, body []byte) (*http.Request, error) {
	u, err := url.Parse(s.service.URL)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(target, "//") {
		u.Path = target // as Opaque this would be a host
	} else {
		u.Opaque = target
	}
	r, err := http.NewRequestWithContext(ctx, method, s.service.URL, nil)
	if err != nil {
		return nil, err
	}
	r.URL = u
	if body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	credential, err := s.credential()
	if err != nil {
		return nil, err
	}
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for _, p := range s.extra {
		r.Header.Del(p.name)
	}
	for _, p := range s.extra {
		switch {
		case p.absent:
		case p.name == "Transfer-Encoding" && p.value == "chunked":
			r.ContentLength = -1
		default:
			r.Header[p.name] = append(r.Header[p.name], p.value)
		}
	}
	return r, nil
}

// An answer is a response whose body was read.
type answer struct {
	request string
	status  int
	header  http.Header
	body    []byte
	took    time.Duration
}

// An outcome is an answer, or that there was none.
type outcome struct {
	*answer
	err error
}

func (o outcome) must(ts *testscript.TestScript) *answer {
	if o.err != nil {
		ts.Fatalf("%v", o.failure())
	}
	return o.answer
}

// failure says what happened instead of what was hoped for.
func (o outcome) failure() error {
	if o.answer == nil {
		return o.err
	}
	if o.err != nil {
		return fmt.Errorf("%w\n%s", o.err, o.answer)
	}
	return fmt.Errorf("unexpected answer\n%s", o.answer)
}

func (a *answer) String() string {
	shown := a.body
	const most = 2000
	if len(shown) > most {
		shown = append(slices.Clone(shown[:most]), fmt.Sprintf(" ... (%d bytes)", len(a.body))...)
	}
	return fmt.Sprintf("%s\n%d\n%v\n%s", a.request, a.status, a.header, shown)
}

// do makes a request and checks its answer for what holds for all of them.
func (s *script) do(r *http.Request) outcome {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	started := time.Now()
	resp, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	a := &answer{request: r.Method + " " + r.URL.Opaque, status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return outcome{a, fmt.Errorf("read the body: %w", err)}
	}
	a.took = time.Since(started)
	return outcome{a, s.conforms(r, a)}
}

func usage(ts *testscript.TestScript, text string, wrong bool) {
	if wrong {
		ts.Fatalf("usage: %s", text)
	}
}
