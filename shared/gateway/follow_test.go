package gateway_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/gateway"
)

// A stream ends cleanly before its function's timeout, again and again, and who
// follows misses nothing and gets nothing twice.
func TestFollowOutlivesItsInvocations(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the functions")
	}
	s, err := start(bootstraps(t), func(name string, f *gateway.Function) {
		if name == "inbox" {
			f.Timeout = 3500 * time.Millisecond // a second and the margins
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.stop() }()
	c, err := client.New(client.Options{URL: s.front.URL, Token: apiToken})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, req := range []api.RegisterRequest{{Agent: "alice"}, {Agent: "bob"}} {
		if _, err := c.Register(t.Context(), req); err != nil {
			t.Fatalf("register %s: %v", req.Agent, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const messages = 40
	sent := make(chan error, 1)
	go func() { // ends with its last message
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for n := range messages {
			<-tick.C
			text := fmt.Sprint("message ", n)
			if _, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text}); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	connections, next := 0, uint64(0)
	for d, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, func(st client.State) {
		if st.Connected {
			connections++
		} else if !strings.Contains(st.Err.Error(), "the server ended the stream") {
			t.Errorf("the connection at %d: %v; want it ended by the server", next, st.Err)
		}
	}) {
		if err != nil {
			t.Fatalf("follow, at %d: %v\n%s", next, err, s.log.String())
		}
		if d.SeqNum != next || !strings.Contains(string(d.Envelope), fmt.Sprintf(`"message %d"`, next)) {
			t.Fatalf("delivery %d: %s; want %d", d.SeqNum, d.Envelope, next)
		}
		if next++; next == messages {
			break
		}
	}
	if err := <-sent; err != nil {
		t.Fatalf("send: %v", err)
	}
	if connections < 3 {
		t.Errorf("%d connections; want at least 3", connections)
	}
}

// The function that is deployed starts where an arm64 machine is emulated.
func TestArm64Starts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a function")
	}
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		if qemu, err = exec.LookPath("qemu-aarch64"); err != nil {
			t.Skip("no qemu-user here: " + err.Error())
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("../../scripts/bootstraps", dir, "arm64/service").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s, err := start(bootstraps(t), func(name string, f *gateway.Function) {
		if name == "service" {
			f.Bootstrap, f.Arguments = qemu, []string{dir + "/arm64/service/bootstrap"}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.stop() }()
	c, err := client.New(client.Options{URL: s.front.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if h, err := c.Ready(t.Context()); err != nil || h.Status != "ok" {
		t.Errorf("Ready = %+v, %v; want ok\n%s", h, err, s.log.String())
	}
}
