package wire_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The npm SDK works against the server: in one piece as JSON and as protobuf,
// in sessions over HTTP/2, and by server-sent events.
func TestNPMSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("installs the npm SDK")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: the npm SDK's round trip needs %s: %v", program, err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/npm")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	h := newHost(t)
	run := exec.CommandContext(t.Context(), "node", "roundtrip.mjs", "http://"+h.addr, token)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("the round trip: %v\n%s", err, out)
	}
	if got, want := strings.Fields(string(out)), "s2s ok fetch ok"; strings.Join(got, " ") != want {
		t.Errorf("the round trip printed %q; want %q", out, want)
	}
}
