package localstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/ident"
	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
	"agentchat/shared/stream/localstream"
)

func body(s string) stream.Record { return stream.Record{Body: []byte(s)} }

// A store in memory, made and ended inside a bubble, does what the contract
// says, and its time is the bubble's.
func TestInsideSynctest(t *testing.T) {
	for range 3 { // a second bubble must not meet anything of the first
		synctest.Test(t, func(t *testing.T) {
			s, end := localstream.Memory()
			defer end()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bob := stream.Inbox(ident.Agent("bob"))
			if err := s.Create(ctx, bob, stream.Config{}); err != nil {
				t.Fatal(err)
			}
			if err := s.Create(ctx, bob, stream.Config{}); !errors.Is(err, stream.ErrExists) {
				t.Errorf("second create: err = %v; want ErrExists", err)
			}
			begin := time.Now()
			var got []string
			for p, err := range s.Follow(ctx, bob, 0, 15*time.Second) {
				if err != nil {
					t.Fatal(err)
				}
				if len(p.Entries) == 0 {
					got = append(got, fmt.Sprintf("%v idle %d", time.Since(begin), p.Tail))
				}
				for _, e := range p.Entries {
					got = append(got, fmt.Sprintf("%v %d %s", e.Timestamp.Time().Sub(begin), e.Seq, e.Body))
				}
				switch len(got) {
				case 2:
					go func() {
						time.Sleep(time.Second)
						if _, err := s.Append(ctx, bob, stream.Batch{Records: []stream.Record{body("a"), body("b")}}); err != nil {
							t.Error(err)
						}
					}()
				case 5:
					cancel()
					synctest.Wait()
					goto done
				}
			}
		done:
			want := "[0s idle 0 15s idle 0 16s 0 a 16s 1 b 31s idle 2]"
			if fmt.Sprint(got) != want {
				t.Errorf("follow: got %v; want %s", got, want)
			}
		})
	}
}

// What was appended is read again from the folder, conditions included.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	alice := stream.Inbox(ident.Agent("alice"))
	s, end, err := localstream.Open(t.Context(), engine.Options{Dir: dir}, "test-basin")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), alice, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []stream.Record{body("a"), body("b"), body("c"), stream.Fence("f"), stream.Trim(1)} {
		if _, err := s.Append(t.Context(), alice, stream.Batch{Records: []stream.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := localstream.Open(t.Context(), engine.Options{Dir: dir}, "test-basin"); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("open twice: err = %v; want ErrLocked", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tail(t.Context(), alice); !errors.Is(err, stream.ErrUnavailable) {
		t.Errorf("tail after the end: err = %v; want ErrUnavailable", err)
	}
	s, end, err = localstream.Open(t.Context(), engine.Options{Dir: dir}, "test-basin")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	p, err := s.Read(t.Context(), alice, stream.Start{Seq: 1}, stream.Limit{})
	if err != nil || len(p.Entries) != 4 || string(p.Entries[1].Body) != "c" || p.Tail != 5 {
		t.Errorf("read at 1: %v, %v; want b, c and two commands", p, err)
	}
	var trimmed *stream.TrimmedError
	if _, err := s.Read(t.Context(), alice, stream.Start{}, stream.Limit{}); !errors.As(err, &trimmed) || trimmed.First != 1 {
		t.Errorf("read at 0: err = %v; want trimmed, first is 1", err)
	}
	var fenced *stream.FencedError
	in := stream.Batch{Records: []stream.Record{body("d")}, Token: new(""), At: new(uint64(9))}
	if _, err := s.Append(t.Context(), alice, in); !errors.As(err, &fenced) || fenced.Token != "f" {
		t.Errorf("append without the token: err = %v; want fenced, the token is f", err)
	}
	var position *stream.PositionError
	in.Token = new("f")
	if _, err := s.Append(t.Context(), alice, in); !errors.As(err, &position) || position.Tail != 5 {
		t.Errorf("append at 9: err = %v; want position taken, the tail is 5", err)
	}
	names, more, err := s.List(t.Context(), stream.Inboxes, stream.Name{}, 0)
	if err != nil || more || len(names) != 1 || names[0] != alice {
		t.Errorf("list: %v, %v, %v; want alice's inbox", names, more, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Watch tells what there is, that it told it, and then what moves.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := localstream.Memory()
		defer end()
		a, b := stream.Inbox(ident.Agent("a")), stream.Inbox(ident.Agent("b"))
		add := func(n stream.Name, count int) {
			for range count {
				if _, err := s.Append(t.Context(), n, stream.Batch{Records: []stream.Record{body("x")}}); err != nil {
					t.Error(err)
				}
			}
		}
		if err := s.Create(t.Context(), a, stream.Config{}); err != nil {
			t.Fatal(err)
		}
		add(a, 2)
		var got []string
		for batch, err := range s.Watch(t.Context(), stream.Inboxes) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(batch))
			if len(got) == 2 {
				if err := s.Create(t.Context(), b, stream.Config{}); err != nil {
					t.Fatal(err)
				}
				add(a, 3)
				add(b, 1)
			}
			if len(got) == 3 {
				break
			}
		}
		if want := "[[{inbox/a 2 <nil>}] [] [{inbox/a 5 <nil>} {inbox/b 1 <nil>}]]"; fmt.Sprint(got) != want {
			t.Errorf("got %v; want %s", got, want)
		}
	})
}

// An append that the store keeps waiting has an unknown outcome after 5 s: it may be
// made yet, and is then, once. What is appended behind it says so.
func TestAppendThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.Open(engine.Options{Memory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s := localstream.New(e, "test-basin")
		if err := s.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		alice := stream.Inbox(ident.Agent("alice"))
		if err := s.Create(t.Context(), alice, stream.Config{}); err != nil {
			t.Fatal(err)
		}
		resume := make(chan struct{})
		go func() {
			_, err := e.ReconfigureStream(context.Background(), "test-basin", alice.String(), func(*engine.StreamConfig) { <-resume })
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait() // nothing is committed from here on
		in := stream.Batch{Records: []stream.Record{body("a")}, At: new(uint64(0))}
		began := time.Now()
		for range 2 {
			if _, err := s.Append(t.Context(), alice, in); !errors.Is(err, stream.ErrUnknown) {
				t.Errorf("append: err = %v; want ErrUnknown", err)
			}
		}
		if took := time.Since(began); took < 10*time.Second || took > 10500*time.Millisecond {
			t.Errorf("two appends took %v; want 5 s each", took)
		}
		if err := s.Check(t.Context()); !errors.Is(err, stream.ErrUnavailable) {
			t.Errorf("check on a disk that takes nothing: err = %v; want ErrUnavailable", err)
		}
		close(resume)
		var position *stream.PositionError
		if _, err := s.Append(t.Context(), alice, in); !errors.As(err, &position) || position.Tail != 1 {
			t.Errorf("append at 0: err = %v; want position taken, the tail is 1", err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("check when it works again: %v", err)
		}
	})
}
