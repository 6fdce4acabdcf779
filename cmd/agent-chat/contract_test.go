package main

import (
	"bufio"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentchat/shared/apitest"
	"agentchat/shared/signed"
)

const auditor = "auditor-token-0123456789"

// contract runs the contract against agent-chat serve, each script against a
// process of its own: the n-th has args(n) and environ(n) besides the tokens.
func contract(t *testing.T, http2 bool, args, environ func(n string) []string) {
	t.Helper()
	var n atomic.Int64
	host := apitest.Command(operator, auditor, func() *exec.Cmd {
		nth := strconv.FormatInt(n.Add(1), 10)
		cmd := exec.Command("agent-chat", append([]string{"serve", "--listen", "127.0.0.1:0"}, args(nth)...)...)
		cmd.Env = append(cmd.Environ(), "AGENT_CHAT_API_TOKEN="+operator, "AGENT_CHAT_ADMIN_TOKEN="+auditor)
		cmd.Env = append(cmd.Env, environ(nth)...)
		return cmd
	})
	host.HTTP2 = http2
	apitest.Run(t, host)
}

func none(string) []string { return nil }

// The running binary keeps the contract, on a store on disk: it answers as the
// handlers do in process, logs no secret and ends cleanly after each script.
func TestContract(t *testing.T) {
	dir := t.TempDir()
	contract(t, false, func(n string) []string { return []string{"--data", filepath.Join(dir, n)} }, none)
}

// It keeps it in front of S2 and over HTTP/2 too: what is told and stored is the
// same whether the store is in the process or behind the S2 API.
func TestContractOverS2(t *testing.T) {
	if testing.Short() {
		t.Skip("the scripts run a third time")
	}
	const token = "s2-token-0123456789"
	s2 := exec.Command("agent-chat", "s2", "--memory", "--listen", "127.0.0.1:0")
	s2.Env = append(s2.Environ(), "AGENT_CHAT_S2_TOKEN="+token)
	out, err := s2.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s2.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s2.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s2.Wait(); err != nil {
			t.Errorf("agent-chat s2 ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	endpoint, parsed := url.Parse(regexp.MustCompile(`http://[0-9.:]+`).FindString(line))
	if err != nil || parsed != nil || endpoint.Host == "" {
		t.Fatalf("agent-chat s2 said %q, %v", line, err)
	}
	keys, err := signed.NewSet(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	contract(t, true, none, func(n string) []string {
		return []string{"AGENT_CHAT_SIGNING_KEYS=" + string(keys.Private()), "AGENT_CHAT_S2_TOKEN=" + token, "AGENT_CHAT_S2_ENDPOINT=" + endpoint.String(), fmt.Sprintf("AGENT_CHAT_BASIN=contract-%s", n)}
	})
}
