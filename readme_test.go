package agentchat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentchat/shared/apitest"
)

// The README's commands, typed one after the other from a checkout, do what it
// says: the server starts, two agents meet, the message is followed. Only the
// port and the data folder are others, so that a server of the reader's own is
// left alone.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the product and runs it as a person would; not with -short")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	listen, data := freeAddr(t), filepath.Join(t.TempDir(), "data")
	elsewhere := strings.NewReplacer("127.0.0.1:8080", listen, ".agent-chat/", data+"/")
	env := append(plainEnviron(), "LISTEN="+listen, "DATA="+data, "AGENT_CHAT_URL=http://"+listen)

	var follows []*process
	token := ""
	for _, block := range consoleBlocks(string(readme)) {
		for _, line := range block {
			line = elsewhere.Replace(line)
			switch {
			case line == "make test": // this is it
			case line == "make run":
				start(t, env, line)
				waitReady(t, "http://"+listen+"/readyz")
			case strings.HasPrefix(line, "export "):
				token = line + "\n"
			case strings.HasSuffix(line, "--follow"):
				follows = append(follows, start(t, env, token+line))
			default:
				if out, err := bash(t, env, token+line).CombinedOutput(); err != nil {
					t.Fatalf("$ %s: %v\n%s", line, err, out)
				} else if want := wants[line]; !strings.Contains(string(out), want) {
					t.Errorf("$ %s: printed\n%s\nwant %q in it", line, out, want)
				}
			}
		}
	}
	if token == "" || len(follows) == 0 {
		t.Fatalf("the README has no export, or no --follow: token %q, %d follows", token, len(follows))
	}
	for _, p := range follows {
		p.waitFor(t, "Please inspect this result")
		p.waitFor(t, "hello")
	}
}

// plainEnviron returns the environment without what the reader may have exported
// for a server of his own, and without what make hands on.
func plainEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "AGENT_CHAT_") || strings.HasPrefix(v, "MAKEFLAGS=")
	})
}

// wants is what a command of the README prints, as far as a reader would look for it.
var wants = map[string]string{
	"bin/agent-chat register alice bob": "registered bob",
	"bin/agent-chat inbox bob":          "Please inspect this result",
}

// consoleBlocks returns the commands of the console blocks of a document.
func consoleBlocks(doc string) [][]string {
	var blocks [][]string
	for _, m := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(doc, -1) {
		var commands []string
		for line := range strings.Lines(m[1]) {
			if c, ok := strings.CutPrefix(line, "$ "); ok {
				commands = append(commands, strings.TrimSpace(c))
			}
		}
		blocks = append(blocks, commands)
	}
	return blocks
}

// A process is a command that goes on until the test ends.
type process struct{ apitest.Buffer }

func (p *process) waitFor(t *testing.T, want string) {
	t.Helper()
	eventually(t, soon, func() error {
		if got := p.String(); !strings.Contains(got, want) {
			return fmt.Errorf("printed\n%s\nwant %q in it", got, want)
		}
		return nil
	})
}

func start(t *testing.T, env []string, command string) *process {
	t.Helper()
	p, cmd := &process{}, bash(t, env, command)
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("$ %s\n%s", command, p.String())
		}
	})
	return p
}

// bash returns a command in a process group of its own, which ends with the test.
func bash(t *testing.T, env []string, command string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `curl() { command curl --fail-with-body "$@"; }`+"\n"+command)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func waitReady(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Timeout: time.Second}
	eventually(t, coldBuild, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b, _ := io.ReadAll(resp.Body)
			return errors.New(resp.Status + ": " + string(b))
		}
		return nil
	})
}

// How long to wait for what follows at once, on a busy machine, and for a cold build.
const (
	soon      = 30 * time.Second
	coldBuild = 10 * time.Minute
)

// eventually waits for ok to return nil.
func eventually(t *testing.T, patience time.Duration, ok func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
