package s2stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

var inbox = stream.Inbox("bob")

func batch(texts ...string) stream.Batch {
	var b stream.Batch
	for _, text := range texts {
		b.Records = append(b.Records, stream.Record{Body: []byte(text)})
	}
	return b
}

func create(t testing.TB, s stream.Store, name stream.Name) {
	t.Helper()
	if err := s.Create(t.Context(), name, stream.Config{}); err != nil {
		t.Fatal(err)
	}
}

// texts returns all that is in the inbox.
func texts(t *testing.T, s stream.Store) (got []string) {
	t.Helper()
	page, err := s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		got = append(got, string(e.Body))
	}
	return got
}

// An append whose fate nobody knows is told as such, after one request: the store
// must not decide to write a second time.
func TestAmbiguousAppendIsUnknownAndSentOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault
		want  []string
	}{
		{"reply lost", fault{kind: dropReply}, []string{"m"}},
		{"request lost", fault{kind: dropRequest}, nil},
		{"500", fault{kind: answer, status: 500, body: `{"code":"storage","message":"disk"}`}, nil},
		{"502 of a proxy", fault{kind: answer, status: 502, body: "<html>bad gateway</html>"}, nil},
		{"503", fault{kind: answer, status: 503, body: `{"code":"unavailable","message":"closing"}`}, nil},
		{"504", fault{kind: answer, status: 504, body: `{"code":"upstream_timeout","message":"late"}`}, nil},
		{"408", fault{kind: answer, status: 408, body: `{"code":"request_timeout","message":"late"}`}, nil},
		{"redirect", fault{kind: answer, status: 307}, nil},
		{"an ack that is none", fault{kind: answer, status: 200, body: "no protobuf"}, nil},
		{"an empty ack", fault{kind: answer, status: 200}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, only("POST", "/records", c.fault))
			s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
			create(t, s, inbox)
			if _, err := s.Append(t.Context(), inbox, batch("m")); !errors.Is(err, stream.ErrUnknown) || errors.Is(err, stream.ErrUnavailable) {
				t.Errorf("append: err = %v; want ErrUnknown", err)
			}
			if diff := cmp.Diff(c.want, texts(t, s)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if n := len(srv.arrivals("POST records")); n != 1 {
				t.Errorf("%d requests; want 1", n)
			}
		})
	}
}

// The append was stored and its reply lost. Whoever concluded from the position that
// another writer was faster would be wrong; the store says unknown, and the
// record is there to be recognised.
func TestConditionalAppendWithLostReplyIsNoConflict(t *testing.T) {
	srv := serve(t, only("POST", "/records", fault{}, fault{kind: dropReply}))
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)
	if _, err := s.Append(t.Context(), inbox, stream.Batch{Records: []stream.Record{stream.Fence("me")}}); err != nil {
		t.Fatal(err)
	}
	at, owner := uint64(1), "me"
	in := batch("mine")
	in.At, in.Token = &at, &owner
	_, err := s.Append(t.Context(), inbox, in)
	if !errors.Is(err, stream.ErrUnknown) || errors.Is(err, stream.ErrPosition) || errors.Is(err, stream.ErrFenced) {
		t.Errorf("append: err = %v; want ErrUnknown only", err)
	}
	if diff := cmp.Diff([]string{"me", "mine"}, texts(t, s)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// What is definite and may pass is tried again, with growing pauses and an end;
// what is definite and will not pass is not.
func TestOnlyWhatMaySucceedIsTriedAgain(t *testing.T) {
	limited := fault{kind: answer, status: 429, body: `{"code":"rate_limited","message":"slower"}`}
	hot := fault{kind: answer, status: 502, body: `{"code":"hot_server","message":"moving"}`}
	conflict := fault{kind: answer, status: 409, body: `{"code":"transaction_conflict","message":"again"}`}
	for _, c := range []struct {
		name   string
		fault  fault
		times  int
		append int // requests of one append
		read   int // requests of one read
		want   error
		reads  error
	}{
		{"429 once", limited, 1, 2, 2, nil, nil},
		{"502 hot server twice", hot, 2, 3, 3, nil, nil},
		{"409 conflict three times", conflict, 3, 4, 4, nil, nil},
		{"429 for ever", limited, 100, 6, 6, stream.ErrUnavailable, stream.ErrUnavailable},
		{"503 for ever", fault{kind: answer, status: 503}, 100, 1, 6, stream.ErrUnknown, stream.ErrUnavailable},
		{"reset for ever", fault{kind: dropRequest}, 100, 1, 6, stream.ErrUnknown, stream.ErrUnavailable},
		{"reset once", fault{kind: dropRequest}, 1, 1, 2, stream.ErrUnknown, nil},
		{"400", fault{kind: answer, status: 400, body: `{"code":"bad_proto","message":"no"}`}, 100, 1, 1, stream.ErrInvalid, stream.ErrInvalid},
		{"422", fault{kind: answer, status: 422, body: `{"code":"invalid","message":"no"}`}, 100, 1, 1, stream.ErrInvalid, stream.ErrInvalid},
		{"400 of a proxy", fault{kind: answer, status: 400, body: "<html>bad request</html>"}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"422 of a proxy", fault{kind: answer, status: 422, body: `{"error":"no"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"413", fault{kind: answer, status: 413}, 100, 1, 1, stream.ErrInvalid, stream.ErrInvalid},
		{"401", fault{kind: answer, status: 401, body: `{"code":"authn","message":"who"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"403", fault{kind: answer, status: 403, body: `{"code":"permission_denied","message":"no"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"404 of the stream", fault{kind: answer, status: 404, body: `{"code":"stream_not_found","message":"no"}`}, 100, 1, 1, stream.ErrNotFound, stream.ErrNotFound},
		{"404 of the basin", fault{kind: answer, status: 404, body: `{"code":"basin_not_found","message":"no"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"404 of a proxy", fault{kind: answer, status: 404, body: "nothing here"}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"409 being deleted", fault{kind: answer, status: 409, body: `{"code":"stream_deletion_pending","message":"no"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"412 without a reason", fault{kind: answer, status: 412, body: `{}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"416 without a tail", fault{kind: answer, status: 416, body: `!`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"416 of a proxy", fault{kind: answer, status: 416, body: `{"message":"no such range"}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
		{"416 with half a tail", fault{kind: answer, status: 416, body: `{"tail":{"timestamp":1}}`}, 100, 1, 1, stream.ErrUnavailable, stream.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, both(only("POST", "/records", repeat(c.fault, c.times)...), only("GET", "/records", repeat(c.fault, c.times)...)))
			s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
			create(t, s, inbox)
			began := time.Now()
			_, err := s.Append(t.Context(), inbox, batch("m"))
			if !errors.Is(err, c.want) {
				t.Errorf("append: err = %v; want %v", err, c.want)
			}
			_, err = s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
			if !errors.Is(err, c.reads) {
				t.Errorf("read: err = %v; want %v", err, c.reads)
			}
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("both took %v", took)
			}
			for what, want := range map[string]int{"POST records": c.append, "GET records": c.read} {
				at := srv.arrivals(what)
				// A slow machine gets through fewer tries in the time for them.
				if len(at) != want && (want < 6 || len(at) < 3 || len(at) > 6) {
					t.Errorf("%s: %d requests; want %d", what, len(at), want)
				}
				for i := 1; i < len(at); i++ {
					// Half of 40 ms, doubled each time.
					if pause, least := at[i].Sub(at[i-1]), 20*time.Millisecond<<(i-1); pause < least*9/10 {
						t.Errorf("%s: request %d after %v; want at least %v", what, i, pause, least)
					}
				}
			}
		})
	}
}

func both(a, b func(*http.Request) fault) func(*http.Request) fault {
	return func(r *http.Request) fault {
		if f := a(r); f.kind != pass {
			return f
		}
		return b(r)
	}
}

// A store that nobody listens at has certainly not written anything.
func TestNobodyListensIsDefinite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := unensured(t, s2stream.Options{Token: token, Endpoint: "http://" + l.Addr().String()})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := s.Append(t.Context(), inbox, batch("m")); !errors.Is(err, stream.ErrUnavailable) || errors.Is(err, stream.ErrUnknown) {
		t.Errorf("append: err = %v; want ErrUnavailable", err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A store that takes every request and answers none ends no caller's patience.
func TestSilentStoreIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	t.Parallel()
	srv := serve(t, func(*http.Request) fault { return fault{kind: hang} })
	s := unensured(t, s2stream.Options{Token: token, Endpoint: srv.url})
	var group sync.WaitGroup
	for name, c := range map[string]struct {
		call func(context.Context) error
		want error
	}{
		"append": {func(ctx context.Context) error { _, err := s.Append(ctx, inbox, batch("m")); return err }, stream.ErrUnknown},
		"read": {func(ctx context.Context) error {
			_, err := s.Read(ctx, inbox, stream.Start{}, stream.Limit{})
			return err
		}, stream.ErrUnavailable},
		"tail": {func(ctx context.Context) error { _, err := s.Tail(ctx, inbox); return err }, stream.ErrUnavailable},
		"list": {func(ctx context.Context) error {
			_, _, err := s.List(ctx, stream.Inboxes, stream.Name{}, 0)
			return err
		}, stream.ErrUnavailable},
		"create": {func(ctx context.Context) error { return s.Create(ctx, inbox, stream.Config{}) }, stream.ErrUnknown},
		"delete": {func(ctx context.Context) error { return s.Delete(ctx, inbox) }, stream.ErrUnknown},
		"check":  {s.Check, stream.ErrUnavailable},
		"ensure": {s.Ensure, stream.ErrUnavailable},
		"follow": {func(ctx context.Context) (last error) {
			for _, err := range s.Follow(ctx, inbox, 0, time.Minute) {
				last = err
			}
			return last
		}, stream.ErrUnavailable},
	} {
		group.Go(func() {
			began := time.Now()
			err := c.call(t.Context())
			if !errors.Is(err, c.want) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: err = %v; want %v, and no end of the caller's own context", name, err, c.want)
			}
			if took := time.Since(began); took < 4*time.Second || took > 6*time.Second {
				t.Errorf("%s took %v; want 5 s", name, took)
			}
		})
	}
	group.Wait()
}

// A caller's deadline in the middle of a call is the caller's, and an append then is unknown.
func TestCallersDeadlineIsToldAsSuch(t *testing.T) {
	srv := serve(t, only("POST", "/records", fault{kind: hang}))
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	create(t, s, inbox)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := s.Append(ctx, inbox, batch("m"))
	if !errors.Is(err, stream.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append: err = %v; want ErrUnknown and context.DeadlineExceeded", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v; want 100 ms", took)
	}
}

// No credential appears in an error.
func TestErrorsHoldNoToken(t *testing.T) {
	srv := serve(t, func(*http.Request) fault { return fault{kind: answer, status: 401} })
	s := unensured(t, s2stream.Options{Token: "s3cr3t", Endpoint: srv.url})
	_, err := s.Append(t.Context(), inbox, batch("m"))
	if err == nil || strings.Contains(fmt.Sprintf("%+v %q", err, err), "s3cr3t") {
		t.Errorf("append: err = %v; want an error without the token", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	good := s2stream.Options{Token: "t", Endpoint: "http://127.0.0.1:1/", Basin: "agent-chat"}
	if _, err := s2stream.New(good); err != nil {
		t.Errorf("New: %v", err)
	}
	for _, c := range []struct {
		name string
		with func(*s2stream.Options)
	}{
		{"no token", func(o *s2stream.Options) { o.Token = " " }},
		{"short basin", func(o *s2stream.Options) { o.Basin = "short" }},
		{"basin too long for its second", func(o *s2stream.Options) { o.Basin = strings.Repeat("a", 45) }},
		{"basin with a capital", func(o *s2stream.Options) { o.Basin = "Agent-chat" }},
		{"basin with a dot within", func(o *s2stream.Options) { o.Basin = "agent.chat" }},
		{"basin that ends in a hyphen", func(o *s2stream.Options) { o.Basin = "agent-chat-" }},
		{"endpoint without scheme", func(o *s2stream.Options) { o.Endpoint = "127.0.0.1:80" }},
		{"endpoint of another scheme", func(o *s2stream.Options) { o.Endpoint = "ftp://host" }},
		{"endpoint with credentials", func(o *s2stream.Options) { o.Endpoint = "http://u:p@host" }},
		{"endpoint with a query", func(o *s2stream.Options) { o.Endpoint = "http://host?x=1" }},
		{"endpoint of nothing", func(o *s2stream.Options) { o.Endpoint = "http://" }},
	} {
		o := good
		c.with(&o)
		if _, err := s2stream.New(o); err == nil {
			t.Errorf("%s: New accepted it", c.name)
		}
	}
}

// Pauses grow, stay within their cap, and do so for ever: none overflows.
func TestDelaysStayWithinTheirBounds(t *testing.T) {
	b := s2stream.Delays()
	for n := range 200 {
		most := min(40*time.Millisecond<<min(n, 10), time.Second) * 3 / 2
		if d := b.NextBackOff(); d < most/3 || d > most+time.Millisecond {
			t.Fatalf("pause %d = %v; want between %v and %v", n, d, most/3, most)
		}
	}
}
