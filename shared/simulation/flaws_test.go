package simulation_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"agentchat/shared/simulation"
	"agentchat/shared/stream"
)

// A flawed store does now and then to an append into one kind of streams what no store may.
type flawed struct {
	stream.Store
	kind   string
	n      atomic.Int64
	append func(ctx context.Context, s stream.Store, name stream.Name, b stream.Batch) (stream.Ack, error)
}

// Append implements stream.Store.
func (f *flawed) Append(ctx context.Context, name stream.Name, b stream.Batch) (stream.Ack, error) {
	if strings.HasPrefix(name.String(), f.kind) && b.Records[0].Command() == stream.None && f.n.Add(1)%10 == 0 {
		return f.append(ctx, f.Store, name, b)
	}
	return f.Store.Append(ctx, name, b)
}

// An appendFunc appends as it likes.
type appendFunc = func(ctx context.Context, s stream.Store, name stream.Name, b stream.Batch) (stream.Ack, error)

func flawedStore(kind string, f appendFunc) func(stream.Store) stream.Store {
	return func(s stream.Store) stream.Store { return &flawed{Store: s, kind: kind, append: f} }
}

// forget acknowledges what it does not store.
func forget(ctx context.Context, s stream.Store, name stream.Name, _ stream.Batch) (stream.Ack, error) {
	at, err := s.Tail(ctx, name)
	return stream.Ack{First: at.Seq, Next: at.Seq + 1, Timestamp: at.Timestamp}, err
}

func double(ctx context.Context, s stream.Store, name stream.Name, b stream.Batch) (stream.Ack, error) {
	ack, err := s.Append(ctx, name, b)
	if err == nil {
		_, err = s.Append(ctx, name, stream.Batch{Records: b.Records})
	}
	return ack, err
}

// deny stores what it says it has refused.
func deny(ctx context.Context, s stream.Store, name stream.Name, b stream.Batch) (stream.Ack, error) {
	if _, err := s.Append(ctx, name, b); err != nil {
		return stream.Ack{}, err
	}
	return stream.Ack{}, fmt.Errorf("%w: so it says", stream.ErrUnavailable)
}

// A careless store leaves a condition of every append out.
type careless struct {
	stream.Store
	forget func(*stream.Batch)
}

// Append implements stream.Store.
func (c careless) Append(ctx context.Context, name stream.Name, b stream.Batch) (stream.Ack, error) {
	c.forget(&b)
	return c.Store.Append(ctx, name, b)
}

// An editor changes what handlers write: each whole write of theirs at a time.
type editor struct {
	http.ResponseWriter
	edit func(b []byte) []byte
}

func (e editor) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Write implements io.Writer.
func (e editor) Write(b []byte) (int, error) {
	_, err := e.ResponseWriter.Write(e.edit(b))
	return len(b), err
}

// edited has every tenth write of an answer whose path and beginning are as given edited.
func edited(path, beginning string, edit func(b []byte) []byte) func(http.Handler) http.Handler {
	var n atomic.Int64
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, path) {
				h.ServeHTTP(w, r)
				return
			}
			h.ServeHTTP(editor{w, func(b []byte) []byte {
				if bytes.HasPrefix(b, []byte(beginning)) && n.Add(1)%10 == 0 {
					return edit(b)
				}
				return b
			}}, r)
		})
	}
}

// skip moves the first position of the cursor in an event of the monitor's.
func skip(b []byte) []byte {
	_, id, _ := bytes.Cut(b, []byte("\nid: "))
	id, _, _ = bytes.Cut(id, []byte("\n"))
	text, err := base64.RawURLEncoding.DecodeString(string(id))
	at := regexp.MustCompile(`^{"v":1,"p":{"[^"]*":(\d+)`).FindSubmatch(text)
	if err != nil || at == nil {
		return b
	}
	n, _ := strconv.Atoi(string(at[1])) // digits
	text = bytes.Replace(text, append([]byte(":"), at[1]...), fmt.Appendf(nil, ":%d", n+1), 1)
	return bytes.ReplaceAll(b, id, []byte(base64.RawURLEncoding.EncodeToString(text)))
}

// What breaks a promise is found, and it is said which promise that is.
func TestFlawsAreFound(t *testing.T) {
	drop := func([]byte) []byte { return nil }
	twice := func(b []byte) []byte { return append(bytes.Clone(b), b...) }
	for _, flaw := range []struct {
		name string
		o    simulation.Options
		want string // in what is wrong
	}{
		{"a record is dropped", simulation.Options{Store: flawedStore("inbox/", forget)}, "and does not"},
		{"an append is doubled", simulation.Options{Store: flawedStore("inbox/", double)}, "stands 2 times"},
		{"a refusal is none", simulation.Options{Store: flawedStore("inbox/", deny)}, "times"},
		{"a contact is dropped", simulation.Options{Store: flawedStore("contacts/", forget)}, "nothing explains"},
		{"a position is ignored", simulation.Options{Store: func(s stream.Store) stream.Store {
			return careless{s, func(b *stream.Batch) { b.At = nil }}
		}}, ""},
		{"an epoch is ignored", simulation.Options{Store: func(s stream.Store) stream.Store {
			return careless{s, func(b *stream.Batch) {
				if b.Token != nil && *b.Token != "?" && b.Records[0].Command() == stream.None {
					b.Token = nil
				}
			}}
		}}, ""},
		{"an event is left out", simulation.Options{Handler: edited("/inbox", "event: envelope", drop)}, "was next"},
		{"an event comes twice", simulation.Options{Handler: edited("/inbox", "event: envelope", twice)}, "was shown"},
		{"a cursor skips one", simulation.Options{Handler: edited("/inbox", `{"deliveries":[{`, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"next_cursor":`), []byte(`"next_cursor":1`), 1)
		})}, "was shown"},
		{"an event of the monitor is left out", simulation.Options{Handler: edited("/monitor", "event: envelope", drop)}, "was shown of"},
		{"an event of the monitor comes twice", simulation.Options{Handler: edited("/monitor", "event: envelope", twice)}, "was shown of"},
		{"a cursor of the monitor skips one", simulation.Options{Handler: edited("/monitor", "event: envelope", skip)}, "was shown of"},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			t.Parallel()
			const most = 40
			for s := uint64(1); s <= most; s++ {
				flaw.o.Seed = s
				r := simulation.Run(t, flaw.o)
				if len(r.Wrong) > 0 && strings.Contains(r.String(), flaw.want) {
					t.Logf("found with seed %d: %s", s, r.Wrong[0].What)
					return
				}
			}
			t.Errorf("not found by %d seeds", most)
		})
	}
}
