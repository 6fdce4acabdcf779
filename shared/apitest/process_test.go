package apitest_test

import (
	"os/exec"
	"strings"
	"testing"

	"agentchat/shared/apitest"
)

// A program is running when Start returns, is asked to end by Stop, and is held
// to what it says and how it ends.
func TestCommand(t *testing.T) {
	tests := []struct {
		name         string
		script       string // of a shell
		url          string
		start, ended string // in the errors of Start and Stop
	}{
		{"serves", "trap 'echo bye >&2; exit 0' TERM; echo listens on http://127.0.0.1:80, really; while :; do sleep 0.1; done", "http://127.0.0.1:80", "", ""},
		{"says JSON", `trap 'exit 0' TERM; echo 'starting'; echo '{"url":"http://[::1]:80"}'; while :; do sleep 0.1; done`, "http://[::1]:80", "", ""},
		{"ends badly", "trap 'echo why >&2; exit 3' TERM; echo http://127.0.0.1:80; while :; do sleep 0.1; done", "http://127.0.0.1:80", "", "exit status 3\nwhy"},
		{"ends by itself", "echo http://127.0.0.1:80; exit 3", "http://127.0.0.1:80", "", "it ended with"},
		{"never serves", "echo nothing; echo why >&2; exit 3", "", "exit status 3\nwhy", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := apitest.Command("a", "b", func() *exec.Cmd { return exec.Command("sh", "-c", tt.script) }).Start()
			if tt.start != "" {
				if err == nil || !strings.Contains(err.Error(), tt.start) {
					t.Fatalf("Start = %v; want %q", err, tt.start)
				}
				return
			}
			if err != nil || s.URL != tt.url || s.APIToken != "a" || s.AdminToken != "b" {
				t.Fatalf("Start = %+v, %v; want %s", s, err, tt.url)
			}
			err = s.Stop()
			if (err == nil) != (tt.ended == "") || err != nil && !strings.Contains(err.Error(), tt.ended) {
				t.Errorf("Stop = %v; want %q", err, tt.ended)
			}
		})
	}
}

// A program that can't be started is told.
func TestCommandMissing(t *testing.T) {
	if _, err := apitest.Command("a", "b", func() *exec.Cmd { return exec.Command("/nothing/of/the/kind") }).Start(); err == nil {
		t.Error("Start = nil; want an error")
	}
}
