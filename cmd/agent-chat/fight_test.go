package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/ident"
)

// A deafProxy stands before the server, and loses the reply of every few appends.
type deafProxy struct {
	to   http.Handler
	n    atomic.Int64
	lost atomic.Int64
}

func (p *deafProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	append := strings.HasSuffix(r.URL.Path, "/messages") || strings.HasSuffix(r.URL.Path, "/receipts")
	if !append || p.n.Add(1)%9 > 0 {
		p.to.ServeHTTP(w, r)
		return
	}
	p.to.ServeHTTP(httptest.NewRecorder(), r)
	p.lost.Add(1)
	panic(http.ErrAbortHandler)
}

// A ring is where two attached processes of alice fight.
type ring struct {
	t       *testing.T
	url     string // of the proxy
	chat    ident.Chat
	lost    *atomic.Int64
	ended   map[int]int // exit statuses
	mu      sync.Mutex
	running map[*exec.Cmd]bool
	shown   []shownBatch
	told    []coordinator.Event
}

type shownBatch struct {
	owner ident.Owner
	at    time.Time
	coordinator.Presentation
}

func (r *ring) sync(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *ring) command(args ...string) *exec.Cmd {
	cmd := exec.Command("agent-chat", args...)
	cmd.Env = append(cmd.Environ(), "AGENT_CHAT_TOKEN="+operator, "AGENT_CHAT_URL="+r.url, "AGENT_CHAT_AGENT=alice")
	return cmd
}

// attach runs one coordinator to its end. It answers each batch, every other one
// with a reply.
func (r *ring) attach(ctx context.Context) {
	cmd := r.command("chats", "attach", string(r.chat), "--stdio", "--take-over", "--limit", "5")
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Error(err)
		return
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		r.t.Error(err)
		return
	}
	r.sync(func() { r.running[cmd] = true })
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGCONT); _ = in.Close() })
	defer stop()
	var owner ident.Owner
	lines := bufio.NewReaderSize(out, 1<<20)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e struct {
			coordinator.Event
			Owner ident.Owner `json:"owner"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			r.t.Errorf("attach wrote %q: %v", line, err)
		}
		switch e.Event.Event {
		case "attached":
			owner = e.Owner
		case "batch":
			var p coordinator.Presentation
			if err := json.Unmarshal(line, &p); err != nil {
				r.t.Errorf("attach wrote %q: %v", line, err)
			}
			r.sync(func() { r.shown = append(r.shown, shownBatch{owner, time.Now(), p}) })
			reply := ""
			if n%2 == 0 {
				reply = fmt.Sprintf(`,"reply":"reply to %s by %s"`, *p.BatchID, owner)
			}
			_, _ = fmt.Fprintf(in, `{"ack":"%s"%s}`+"\n", *p.BatchID, reply) // it may have been killed
		case "sent", "acknowledged":
			r.sync(func() { r.told = append(r.told, e.Event) })
		}
	}
	_ = cmd.Wait()
	status := cmd.ProcessState.ExitCode()
	r.sync(func() { delete(r.running, cmd); r.ended[status]++ })
	switch text := said.String(); status {
	case 0, exitRefused, -1:
		if status == exitRefused && !strings.Contains(text, "claim_stale") {
			r.t.Errorf("attach was refused:\n%s", text)
		}
	case exitReplaced:
		if !strings.Contains(text, "owned by f_") {
			r.t.Errorf("attach was replaced, and does not say by whom:\n%s", text)
		}
	case exitUncertain:
		r.recover(text)
	default:
		r.t.Errorf("attach ended with %d:\n%s", status, text)
	}
}

// recover runs the two commands that an uncertain end names.
func (r *ring) recover(text string) {
	for _, what := range []string{"inspect", "recover"} {
		_, line, ok := strings.Cut(text, "agent-chat chats "+what+" ")
		if !ok {
			r.t.Errorf("an uncertain end without the command to %s:\n%s", what, text)
			return
		}
		line, _, _ = strings.Cut(line, "\n")
		b, err := r.command(append([]string{"chats", what}, strings.Fields(line)...)...).CombinedOutput()
		if err != nil || what == "recover" && !bytes.HasPrefix(b, []byte("stored:")) && !bytes.HasPrefix(b, []byte("absent:")) {
			r.t.Errorf("%s %s: %v\n%s", what, line, err, b)
		}
	}
}

// Two real processes fight for one direction: they are stopped and go on, are
// killed, and lose replies. What stands in the end is right as a whole: nothing
// twice, nothing left out, nothing acknowledged that was not presented, nothing
// presented after replacement.
func TestAttachedProcessesFight(t *testing.T) {
	srv := &server{t: t, data: filepath.Join(t.TempDir(), "data"), addr: "127.0.0.1:0"}
	srv.start()
	t.Cleanup(srv.kill)
	target, err := url.Parse("http://" + srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &deafProxy{to: &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}}
	front := httptest.NewUnstartedServer(proxy)
	front.Config.ErrorLog = nil
	front.Start()
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })

	c, err := client.New(client.Options{URL: target.String(), Token: operator})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := c.Register(t.Context(), api.RegisterRequest{Agent: id}); err != nil {
			t.Fatal(err)
		}
	}
	chat, err := c.CreateChat(t.Context(), api.CreateChatRequest{AgentID: "bob", PeerID: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{t: t, url: front.URL, chat: chat.ID, lost: &proxy.lost, ended: map[int]int{}, running: map[*exec.Cmd]bool{}}

	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				r.attach(ctx)
				pause(ctx, time.Duration(50+rand.IntN(400))*time.Millisecond)
			}
		})
	}
	all.Go(func() { r.disturb(ctx) })
	sent := r.peer(ctx, c)
	all.Wait()

	// Who comes last is presented what is left.
	last, stop := context.WithCancel(t.Context())
	all.Go(func() {
		for last.Err() == nil {
			r.attach(last)
		}
	})
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		b, err := c.Batch(t.Context(), api.BatchRequest{Chat: chat.ID, AgentID: "alice"})
		if err == nil && b.BatchID == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("alice is not presented all that is left: %v, %v", b, err)
		}
	}
	stop()
	all.Wait()
	t.Logf("%d messages of bob, %d batches presented, %d replies lost; exit statuses %v", sent, len(r.shown), r.lost.Load(), r.ended)
	r.check(c, sent)
	for _, status := range []int{exitReplaced, exitUncertain, -1} {
		if r.ended[status] == 0 {
			t.Errorf("no coordinator ended with %d; the test wants some", status)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// peer has bob send messages until ctx ends, and returns how many.
func (r *ring) peer(ctx context.Context, c *client.Client) (sent int) {
	review, err := coordinator.Look(ctx, c, r.chat, "bob")
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := review.Claim(ctx, "bobs-claim")
	if err != nil {
		r.t.Fatal(err)
	}
	for ; ctx.Err() == nil; sent++ {
		if _, err := d.Send(ctx, ident.Message(fmt.Sprintf("b-%d", sent)), fmt.Sprint(sent), nil); err != nil {
			r.t.Errorf("bob: %v", err)
			return sent
		}
		pause(ctx, time.Duration(rand.IntN(40))*time.Millisecond)
	}
	return sent
}

// disturb stops coordinators, lets them go on, and kills one now and then.
func (r *ring) disturb(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(100+rand.IntN(200))*time.Millisecond)
		r.mu.Lock()
		for cmd := range r.running { // any of them
			if n%5 == 0 {
				_ = cmd.Process.Kill()
				break
			}
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(time.Duration(rand.IntN(700))*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGCONT) })
			break
		}
		r.mu.Unlock()
	}
}

// check looks at all that stands.
func (r *ring) check(c *client.Client, sent int) {
	file := filepath.Join(r.t.TempDir(), "transcript.ndjson")
	keys := filepath.Join(r.t.TempDir(), "keys.json")
	for name, cmd := range map[string]*exec.Cmd{
		file: exec.Command("sh", "-c", "agent-chat chats read "+string(r.chat)+" --all --limit 0 --json >"+file),
		keys: exec.Command("curl", "-sS", "-o", keys, r.url+"/.well-known/jwks.json"),
	} {
		cmd.Env = r.command().Env
		if b, err := cmd.CombinedOutput(); err != nil {
			r.t.Fatalf("%s: %v\n%s", name, err, b)
		}
	}
	if b, err := r.command("chats", "verify", "--jwks", keys, file).CombinedOutput(); err != nil {
		r.t.Errorf("verify: %v\n%s", err, b)
	}

	var records []api.ChatRecord
	req := api.TranscriptRequest{Chat: r.chat, AgentID: "alice", Include: "receipts,fences", Limit: new(api.MaxPageItems)}
	for {
		page, err := c.Transcript(r.t.Context(), req)
		if err != nil {
			r.t.Fatal(err)
		}
		records = append(records, page.Items...)
		if page.Cursor == nil {
			break
		}
		req.Cursor = *page.Cursor
	}
	var owner ident.Owner
	until := map[ident.Owner]time.Time{} // when each was replaced
	contents := map[string]int{}
	places := map[ident.Operation]api.Position{}
	acknowledged := api.Position(0)
	for _, rec := range records {
		var s struct {
			said
			Operation ident.Operation `json:"operationId"`
			Index     int             `json:"recordIndex"`
		}
		if err := json.Unmarshal(rec.Record, &s); err != nil {
			r.t.Fatal(err)
		}
		if s.Message != nil {
			contents[s.Author+" "+s.Message.Content]++
		}
		if s.Author != "alice" {
			continue
		}
		if s.Index == 0 {
			places[s.Operation] = rec.Position
		}
		switch {
		case s.Fence != nil:
			if owner != "" {
				until[owner] = rec.Timestamp.Time
			}
			owner = s.Fence.Owner
		case s.Receipt != nil:
			i := slices.IndexFunc(r.shown, func(p shownBatch) bool {
				return *p.BatchID == s.Receipt.BatchID && p.NextPosition == s.Receipt.NextPosition && p.From == acknowledged
			})
			if i < 0 {
				r.t.Errorf("the receipt at %d is of %s, which was not presented from %d on", rec.Position, s.Receipt.BatchID, acknowledged)
			}
			acknowledged = s.Receipt.NextPosition
		case s.Message != nil && !strings.HasSuffix(s.Message.Content, " by "+string(owner)):
			r.t.Errorf("at %d, where %s is the owner, stands %q", rec.Position, owner, s.Message.Content)
		}
	}
	for what, n := range contents {
		if n > 1 {
			r.t.Errorf("%q stands %d times", what, n)
		}
	}
	for n := range sent {
		if contents[fmt.Sprint("bob ", n)] != 1 {
			r.t.Errorf("message %d of bob stands %d times", n, contents[fmt.Sprint("bob ", n)])
		}
	}
	for _, e := range r.told {
		if at, ok := places[e.OperationID]; !ok || at != *e.Position {
			r.t.Errorf("%s was told to stand at %d; it stands at %d (%t)", e.OperationID, *e.Position, at, ok)
		}
	}
	for _, p := range r.shown {
		if end := until[p.owner]; !end.IsZero() && p.at.After(end.Add(6*time.Second)) { // what is known may be 5 s old
			r.t.Errorf("%s is presented %s %v after replacement", p.owner, *p.BatchID, p.at.Sub(end))
		}
	}
	if len(r.shown) < 10 {
		r.t.Errorf("%d batches were presented; the test wants more", len(r.shown))
	}
}
