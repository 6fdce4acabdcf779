package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

// serveForKill is the process that TestKill kills: a server on a data folder. It
// prints its address and serves until then.
func serveForKill(dir string) int {
	e, err := engine.Open(engine.Options{Dir: dir, Log: quiet()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, _, err := e.EnsureBasin(context.Background(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, l.Addr())
	err = wire.New(e, wire.Options{Token: token, Log: quiet()}).Serve(context.Background(), l)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// A child is such a process.
type child struct {
	cmd  *exec.Cmd
	addr string
}

func startChild(t *testing.T, dir string) child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WIRE_TEST_SERVE="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server's address: %v", err)
	}
	return child{cmd, strings.TrimSpace(addr)}
}

func (c child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // "signal: killed"
}

// The server's process is killed while SDK clients append, and started again:
// every append that was acknowledged is there, once, where the ack said.
func TestKill(t *testing.T) {
	const rounds, writers = 3, 4
	dir := t.TempDir()
	acked := map[uint64]string{} // by position
	for round := range rounds {
		c := startChild(t, dir)
		var (
			mu   sync.Mutex
			wg   sync.WaitGroup
			some = make(chan struct{}, writers*100)
		)
		for w := range writers {
			wg.Go(func() {
				appendUntilKilled(t.Context(), sdkAt(c.addr, onceOnly()).Stream("s"), fmt.Sprintf("%d/%d", round, w), func(seq uint64, body string) {
					mu.Lock()
					defer mu.Unlock()
					if other, twice := acked[seq]; twice {
						t.Errorf("position %d was acknowledged for %q and %q", seq, other, body)
					}
					acked[seq] = body
					select {
					case some <- struct{}{}:
					default:
					}
				})
			})
		}
		for range writers * 25 {
			<-some
		}
		c.kill(t)
		wg.Wait()
	}
	c := startChild(t, dir)
	defer c.kill(t)
	seen := map[string]uint64{}
	last := sdkAt(c.addr, nil).Stream("s")
	tail, err := last.CheckTail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq, body := range follow(t.Context(), t, last, 0, int(tail.Tail.SeqNum)) { // some thousands
		if at, twice := seen[body]; twice {
			t.Errorf("%q is at %d and %d", body, at, seq)
		}
		seen[body] = uint64(seq) // an index
	}
	for seq, body := range acked {
		if at, ok := seen[body]; !ok || at != seq {
			t.Errorf("%q was acknowledged at %d; it is at %d, %t", body, seq, at, ok)
		}
	}
	t.Logf("%d acknowledged, %d stored", len(acked), len(seen))
}

// onceOnly makes the SDK not repeat what may have been written.
func onceOnly() *s2.RetryConfig {
	return &s2.RetryConfig{MaxAttempts: 1, AppendRetryPolicy: s2.AppendRetryPolicyNoSideEffects}
}

// appendUntilKilled appends by one session, a few at a time, until an error.
func appendUntilKilled(ctx context.Context, to *s2.StreamClient, prefix string, acked func(uint64, string)) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	session, err := to.AppendSession(ctx, &s2.AppendSessionOptions{RetryConfig: onceOnly(), MaxInflightBatches: 8})
	if err != nil {
		return
	}
	defer func() { _ = session.Close() }() // its end is the server's
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := 0; ; i++ {
		body := fmt.Sprintf("%s/%d", prefix, i)
		f, err := session.Submit(&s2.AppendInput{Records: []s2.AppendRecord{{Body: []byte(body)}}})
		if err != nil {
			return
		}
		ticket, err := f.Wait(ctx)
		if err != nil {
			return
		}
		wg.Go(func() {
			if ack, err := ticket.Ack(ctx); err == nil {
				acked(ack.Start.SeqNum, body)
			}
		})
	}
}
