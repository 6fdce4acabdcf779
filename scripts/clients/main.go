// Command clients has client libraries of others follow an inbox and the monitor while
// messages are sent and the server is restarted: told to end, killed, and with streams
// that end by age. It fails unless each of them got every delivery once and in order.
// scripts/clients/run prepares what it needs.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

const (
	operator = "operator-token-0123456789"
	auditor  = "auditor-token-0123456789"
	work     = "build/clients" // where run has put everything
	crowd    = 60              // agents with long names, so that a cursor is no short string
	patience = 30 * time.Second
)

func main() {
	restarts := flag.Int("restarts", 4, "how often the server is restarted")
	pause := flag.Duration("pause", 4*time.Second, "between restarts")
	serverFlags := flag.String("server", "", "further flags of agent-chat dev")
	chromium := flag.String("chromium", "", "the browser; none is left out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *chromium, *restarts, *pause, strings.Fields(*serverFlags)); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, chromium string, restarts int, pause time.Duration, flags []string) error {
	dir, err := os.MkdirTemp(work, "data-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := &server{data: dir, addr: "127.0.0.1:0", flags: flags}
	if err := s.start(ctx); err != nil {
		return err
	}
	defer s.end(syscall.SIGTERM)
	c, err := client.New(client.Options{URL: "http://" + s.addr, Token: operator, Tries: 100})
	if err != nil {
		return err
	}
	defer c.Close()
	sizes, err := populate(ctx, c)
	if err != nil {
		return err
	}

	w := &watch{out: out, server: s.addr, chromium: chromium, seen: map[string]*seen{}}
	defer w.stop()
	for _, f := range []struct {
		names   []string
		command []string
	}{
		{[]string{"npm eventsource"}, []string{"node", "follow.mjs", "eventsource"}},
		{[]string{"npm eventsource-client"}, []string{"node", "follow.mjs", "eventsource-client"}},
		{[]string{"npm fetch-event-source"}, []string{"node", "follow.mjs", "fetch-event-source"}},
		{[]string{"python httpx-sse"}, []string{"venv/bin/python", "follow.py"}},
		{[]string{"chromium EventSource", "chromium fetch"}, []string{"node", "browser.mjs"}},
	} {
		if f.command[1] == "browser.mjs" && chromium == "" {
			fmt.Fprintln(out, "SKIPPED chromium: it is not on PATH, and CHROMIUM is not set")
			continue
		}
		if err := w.start(ctx, f.names, f.command); err != nil {
			return err
		}
	}

	if err := w.until(ctx, func(_ string, s *seen) bool { return s.opened > 0 || s.gone }); err != nil {
		return err
	}
	sending, enough := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- send(sending, c, sizes) }()
	for n := range restarts {
		if err := wait(ctx, pause); err != nil {
			break
		}
		how := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[n%2]
		s.end(how)
		_ = wait(ctx, 500*time.Millisecond)
		if err := s.start(ctx); err != nil {
			enough()
			return err
		}
		fmt.Fprintf(out, "server ended by %v and started again\n", how)
	}
	_ = wait(ctx, pause)
	enough()
	if err := <-sent; err != nil {
		return err
	}
	want, err := stored(ctx, c, sizes)
	if err != nil {
		return err
	}
	return w.judge(ctx, want)
}

// stored returns the positions of the messages in each inbox, which are all that
// were sent. They need not be dense: the server's own records stand between them.
func stored(ctx context.Context, c *client.Client, sent map[ident.Agent]uint64) (map[ident.Agent][]uint64, error) {
	at := map[ident.Agent][]uint64{}
	for id, n := range sent {
		for d, err := range c.Replay(ctx, api.InboxRequest{Agent: id}) {
			if err != nil {
				return nil, err
			}
			at[id] = append(at[id], d.SeqNum)
		}
		if got := uint64(len(at[id])); got != n {
			return nil, fmt.Errorf("%d messages are in the inbox of %s; %d were sent", got, id, n)
		}
	}
	return at, nil
}

// populate registers the agents, sends one message to each of the crowd, and
// returns how many messages each inbox has.
func populate(ctx context.Context, c *client.Client) (map[ident.Agent]uint64, error) {
	sizes := map[ident.Agent]uint64{"alice": 0, "bob": 0}
	for n := range crowd {
		sizes[ident.Agent(fmt.Sprintf("a-member-of-the-crowd-with-a-rather-long-name-%d", n))] = 0
	}
	for id := range sizes {
		if _, err := c.Register(ctx, api.RegisterRequest{Agent: id}); err != nil {
			return nil, err
		}
	}
	for id := range sizes {
		if err := sendTo(ctx, c, id, sizes); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

func sendTo(ctx context.Context, c *client.Client, to ident.Agent, sizes map[ident.Agent]uint64) error {
	text := fmt.Sprintf("message %d to %s ", sizes[to], to) + strings.Repeat("ü大", int(sizes[to]%50))
	_, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: to, ID: client.NewID(rand.Reader)}, Text: &text})
	if err == nil {
		sizes[to]++
	}
	return err
}

// send sends until ctx ends: most to bob, some to alice.
func send(ctx context.Context, c *client.Client, sizes map[ident.Agent]uint64) error {
	for n := 0; wait(ctx, 10*time.Millisecond) == nil; n++ {
		to := ident.Agent("bob")
		if n%5 == 0 {
			to = "alice"
		}
		// What has begun is seen to its end, through a restart too.
		if err := sendTo(context.WithoutCancel(ctx), c, to, sizes); err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A server is agent-chat dev, on a data folder and a port that stay the same.
type server struct {
	data, addr string
	flags      []string
	cmd        *exec.Cmd
}

func (s *server) start(ctx context.Context) error {
	s.cmd = exec.CommandContext(ctx, filepath.Join(work, "agent-chat"), append([]string{"dev", "--data", s.data, "--listen", s.addr}, s.flags...)...)
	s.cmd.Env = append(s.cmd.Environ(), "AGENT_CHAT_API_TOKEN="+operator, "AGENT_CHAT_ADMIN_TOKEN="+auditor, "AGENT_CHAT_STREAM_MAX_AGE=10s")
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`listens on http://(\S+)`).FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("agent-chat dev said %q: %w", line, err)
	}
	s.addr = m[1]
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
	return nil
}

func (s *server) end(how syscall.Signal) { end(s.cmd, how) }

func end(cmd *exec.Cmd, how syscall.Signal) {
	_ = cmd.Process.Signal(how) // it may have ended
	_ = cmd.Wait()              // by a signal
}
