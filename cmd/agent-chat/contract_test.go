package main

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"agentchat/shared/apitest"
)

// The running binary keeps the contract, on a store on disk: it answers as the
// handlers do in process, logs no secret and ends cleanly after each script.
func TestContract(t *testing.T) {
	const api, admin = "operator-token-0123456789", "auditor-token-0123456789"
	dir := t.TempDir()
	var n atomic.Int64
	apitest.Run(t, apitest.Command(api, admin, func() *exec.Cmd {
		data := filepath.Join(dir, strconv.FormatInt(n.Add(1), 10))
		cmd := exec.Command("agent-chat", "serve", "--data", data, "--listen", "127.0.0.1:0")
		cmd.Env = append(cmd.Environ(), "AGENT_CHAT_API_TOKEN="+api, "AGENT_CHAT_ADMIN_TOKEN="+admin)
		return cmd
	}))
}
