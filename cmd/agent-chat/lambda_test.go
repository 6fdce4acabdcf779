package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/signed"
)

// dev --lambda answers with the functions as they would be deployed: a follow
// arrives event by event, and goes on without a gap when its sandbox is killed.
func TestDevLambda(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("../../scripts/bootstraps", dir, "host").CombinedOutput(); err != nil {
		t.Fatalf("build the functions: %v\n%s", err, out)
	}
	s := &server{t: t, data: filepath.Join(dir, "data"), addr: "127.0.0.1:0", flags: []string{"--lambda=" + filepath.Join(dir, "host")}}
	s.start()
	defer s.kill()
	c, err := client.New(client.Options{URL: "http://" + s.addr, Token: operator})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, req := range []api.RegisterRequest{{Agent: "alice"}, {Agent: "bob"}} {
		if _, err := c.Register(t.Context(), req); err != nil {
			t.Fatalf("register %s: %v", req.Agent, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan api.Delivery)
	go func() { // ends with ctx
		for d, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, nil) {
			if err != nil {
				return
			}
			select {
			case got <- d:
			case <-ctx.Done():
				return
			}
		}
	}()
	for n := range 15 {
		if n == 5 || n == 10 {
			killFunctions(t, s.cmd.Process.Pid, "inbox")
		}
		text := fmt.Sprint("message ", n)
		if _, err := c.Send(t.Context(), api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob"}, Text: &text}); err != nil {
			t.Fatalf("send %d: %v", n, err)
		}
		select {
		case d := <-got:
			if d.SeqNum != uint64(n) || !strings.Contains(string(d.Envelope), text) {
				t.Fatalf("delivery %d: %s; want %d, %q", d.SeqNum, d.Envelope, n, text)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("message %d did not come before the next", n)
		}
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; want status 0", err)
	}
}

// killFunctions kills what runs a function below a process, and fails if there is nothing.
func killFunctions(t *testing.T, parent int, family string) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil || len(lists) == 0 {
		t.Skipf("this system does not tell the children of process %d: %v", parent, err)
	}
	killed := 0
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for _, child := range strings.Fields(string(b)) {
			exe, err := os.Readlink("/proc/" + child + "/exe")
			if err != nil || filepath.Base(filepath.Dir(exe)) != family {
				continue
			}
			pid, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
				killed++
			}
		}
	}
	if killed == 0 {
		t.Fatalf("no process runs %s", family)
	}
}

// Without built functions it says how to build them.
func TestDevLambdaNotBuilt(t *testing.T) {
	cmd := exec.Command("agent-chat", "dev", "--memory", "--listen", "127.0.0.1:0", "--lambda="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make bootstraps") {
		t.Errorf("%v: %s; want it to say make bootstraps", err, out)
	}
}

// Functions behind dev --lambda are told everything that the server would read
// for itself: a policy that is set is not lost on the way.
func TestFunctionsEnviron(t *testing.T) {
	keys, err := signed.NewSet(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]string{
		env.APIToken: operator, env.AdminToken: operator + "-auditor", env.S2Token: "s2", env.S2Endpoint: "http://127.0.0.1:1", env.Basin: "acme-chat",
		env.Retention: "200h", env.StreamMaxAge: "1m", env.CORSOrigins: "*", env.Version: version, env.SigningKeys: string(keys.Private()),
		env.AgentKeys: "required", env.ChatGrants: "required", env.PIIPolicy: "reject",
	}
	read := func(m map[string]string) env.Config {
		t.Helper()
		conf, err := env.Read(func(name string) string { return m[name] })
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	want := read(set)
	for f := range reflect.TypeFor[env.Config]().Fields() {
		if f.Name != "Data" && reflect.ValueOf(want).FieldByIndex(f.Index).IsZero() {
			t.Errorf("%s is not set here: this test says nothing of it", f.Name)
		}
	}
	a := &app{getenv: func(name string) string { return set[name] }}
	got := map[string]string{}
	for _, v := range a.functionsEnviron(want) {
		name, value, _ := strings.Cut(v, "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, read(got), cmp.Comparer(func(a, b *signed.Set) bool { return string(a.Private()) == string(b.Private()) })); diff != "" {
		t.Errorf("what a function reads (-want +got):\n%s", diff)
	}
}
