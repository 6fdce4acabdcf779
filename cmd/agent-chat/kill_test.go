package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// A server is the real process, on a data folder and a port that stay the same.
type server struct {
	t     *testing.T
	data  string
	addr  string
	flags []string // besides
	cmd   *exec.Cmd
}

const operator = "operator-token-0123456789"

// start starts the process and waits until it accepts.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command("agent-chat", append([]string{"dev", "--data", s.data, "--listen", s.addr}, s.flags...)...)
	s.cmd.Env = append(s.cmd.Environ(), "AGENT_CHAT_API_TOKEN="+operator)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`listens on http://(\S+)`).FindStringSubmatch(line)
	if m == nil {
		s.t.Fatalf("dev said %q, %v", line, err)
	}
	s.addr = m[1]
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// A ledger is what senders were told of their messages, by text.
type ledger struct {
	mu     sync.Mutex
	stored map[string]uint64 // acknowledged, and where
	open   map[string]bool   // sent without an id, and never answered: stored once or not at all
}

// send sends messages as fast as they are acknowledged, until ctx ends. With ids
// it repeats what was not acknowledged, as a careful sender does.
func (l *ledger) send(ctx context.Context, c *client.Client, who int, ids bool) error {
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("%d-%d", who, n)
		req := api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text}
		if ids {
			req.ID = client.NewID(rand.Reader)
		}
		for {
			// A send that has begun is seen to its end: the test asks what became of it.
			sent, err := c.Send(context.WithoutCancel(ctx), req)
			e, refused := errors.AsType[*client.Error](err)
			if refused && e.Permanent() {
				return err
			}
			l.mu.Lock()
			if err == nil {
				l.stored[text] = sent.SeqNum
			} else if !ids && errors.Is(err, client.ErrUnknown) {
				l.open[text] = true
			}
			l.mu.Unlock()
			if err == nil || !ids {
				break
			}
		}
	}
	return nil
}

// The real process is killed again and again while agents send and follow.
// Nothing that was acknowledged is lost or moved, nothing comes twice, and
// followers, the command's own among them, go on by themselves.
func TestSurvivesSIGKILL(t *testing.T) {
	kills := 3
	if testing.Short() {
		kills = 1
	}
	srv := &server{t: t, data: filepath.Join(t.TempDir(), "data"), addr: "127.0.0.1:0"}
	srv.start()
	t.Cleanup(func() { srv.kill() })
	c, err := client.New(client.Options{URL: "http://" + srv.addr, Token: operator})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := c.Register(t.Context(), api.RegisterRequest{Agent: id}); err != nil {
			t.Fatal(err)
		}
	}

	// Followers: two of the client, one of the command.
	following, stopFollowing := context.WithCancel(t.Context())
	defer stopFollowing()
	var followers sync.WaitGroup
	seen := make([]views, 3)
	for i := range 2 {
		followers.Go(func() {
			for d, err := range c.Follow(following, api.InboxRequest{Agent: "bob"}, nil) {
				if err == nil {
					seen[i].add(d)
				} else if following.Err() == nil {
					t.Errorf("follower %d ended: %v", i, err)
				}
			}
		})
	}
	tail := exec.CommandContext(following, "agent-chat", "inbox", "bob", "--follow", "--json")
	tail.Env = append(tail.Environ(), "AGENT_CHAT_TOKEN="+operator, "AGENT_CHAT_URL=http://"+srv.addr)
	out, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	followers.Go(func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var d api.Delivery
			if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
				t.Errorf("the command said %s: %v", lines.Bytes(), err)
			}
			seen[2].add(d)
		}
		_ = tail.Wait()
	})

	// Senders, and the kills among them.
	sending, stopSending := context.WithCancel(t.Context())
	defer stopSending()
	told := &ledger{stored: map[string]uint64{}, open: map[string]bool{}}
	var senders sync.WaitGroup
	for who := range 6 {
		senders.Go(func() {
			if err := told.send(sending, c, who, who%3 != 0); err != nil {
				t.Errorf("sender %d: %v", who, err)
			}
		})
	}
	for range kills {
		time.Sleep(600 * time.Millisecond)
		srv.kill()
		srv.start()
	}
	time.Sleep(300 * time.Millisecond)
	stopSending()
	senders.Wait()

	// The whole world, once it is quiet.
	var all views
	for d, err := range c.Replay(t.Context(), api.InboxRequest{Agent: "bob", Limit: new(api.MaxPageItems)}) {
		if err != nil {
			t.Fatal(err)
		}
		all.add(d)
	}
	for i := range seen {
		seen[i].await(t, len(all.got))
	}
	stopFollowing()
	followers.Wait()
	t.Logf("%d messages, %d acknowledged, %d open, %d kills", len(all.got), len(told.stored), len(told.open), kills)
	for i := range seen {
		if diff := cmp.Diff(all.got, seen[i].got); diff != "" {
			t.Errorf("follower %d (-replay +seen):\n%s", i, diff)
		}
	}
	told.check(t, all.got)
}

// check compares what senders were told with what is there.
func (l *ledger) check(t *testing.T, got []view) {
	t.Helper()
	at := map[string][]uint64{}
	for _, v := range got {
		at[v.Text] = append(at[v.Text], v.Seq)
	}
	for text, seqs := range at {
		if _, known := l.stored[text]; !known && !l.open[text] || len(seqs) > 1 {
			t.Errorf("message %s is at %v; acknowledged: %t, open: %t", text, seqs, known, l.open[text])
		}
	}
	for text, seq := range l.stored {
		if seqs := at[text]; len(seqs) != 1 || seqs[0] != seq {
			t.Errorf("message %s was acknowledged at %d; it is at %v", text, seq, seqs)
		}
	}
	if len(l.stored) < 20 {
		t.Errorf("%d messages were acknowledged; the test wants more", len(l.stored))
	}
}

// A view is a delivery as a reader saw it.
type view struct {
	Seq  uint64
	ID   ident.Message
	Text string
}

type views struct {
	mu  sync.Mutex
	got []view
}

func (vs *views) add(d api.Delivery) {
	var e api.Envelope
	v := view{Seq: d.SeqNum, Text: "unreadable: " + string(d.Envelope)}
	if err := json.Unmarshal(d.Envelope, &e); err == nil && e.Message != nil && e.Message.Text != nil {
		v.ID, v.Text = e.ID, *e.Message.Text
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.got = append(vs.got, v)
}

// await waits until there are n.
func (vs *views) await(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		vs.mu.Lock()
		have := len(vs.got)
		vs.mu.Unlock()
		if have >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("a follower has seen %d of %d messages", have, n)
			return
		}
	}
}
