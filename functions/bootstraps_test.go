package functions_test

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/functions"
)

var update = flag.Bool("update", false, "rewrite testdata/linked")

// maxBootstrap is what a function may weigh: more is a slower cold start.
const maxBootstrap = 15 << 20

// What is deployed is a static arm64 executable named bootstrap, of bounded
// size, that links what testdata/linked says and no store or command line.
func TestBootstraps(t *testing.T) {
	dir := t.TempDir()
	build(t, "..", dir, "arm64")
	for name := range functions.Families() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "arm64", name, "bootstrap")
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if st.Size() > maxBootstrap || st.Mode().Perm()&0o111 != 0o111 {
				t.Errorf("%d bytes, mode %v; want at most %d, executable by all", st.Size(), st.Mode(), maxBootstrap)
			}
			checkELF(t, path)
			linked := modules(t, path)
			golden := filepath.Join("testdata", "linked", name)
			if *update {
				if err := os.WriteFile(golden, []byte(strings.Join(linked, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(string(want)), linked); diff != "" {
				t.Errorf("modules linked, golden (-) and real (+); -update accepts them:\n%s", diff)
			}
			for _, heavy := range []string{"github.com/cockroachdb/pebble/v2", "github.com/spf13/cobra", "github.com/gin-gonic/gin"} {
				if slices.Contains(linked, heavy) {
					t.Errorf("%s is linked", heavy)
				}
			}
		})
	}
}

func checkELF(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != elf.EM_AARCH64 || f.Class != elf.ELFCLASS64 || f.Type != elf.ET_EXEC {
		t.Errorf("%v %v %v; want an executable for 64-bit arm", f.Machine, f.Class, f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("segment %v; want a static executable", p.Type)
		}
	}
}

// modules returns the modules that an executable was built from, without
// versions, which go.mod has.
func modules(t *testing.T, path string) []string {
	t.Helper()
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range info.Deps {
		all = append(all, m.Path)
	}
	slices.Sort(all)
	return all
}

// The same source gives the same bytes, wherever it lies: what is uploaded does
// not change without a reason.
func TestBootstrapsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("links a function twice")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "functions", "shared", "scripts/bootstraps"} {
		copyTo(t, filepath.Join("..", part), filepath.Join(elsewhere, part))
	}
	build(t, "..", dir, "arm64/service")
	build(t, elsewhere, filepath.Join(elsewhere, "out"), "arm64/service")
	a, b := digest(t, dir), digest(t, filepath.Join(elsewhere, "out"))
	if a != b {
		t.Errorf("sha256 %x here, %x elsewhere", a, b)
	}
}

func digest(t *testing.T, dir string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "arm64", "service", "bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// build runs the module's scripts/bootstraps.
func build(t *testing.T, module, dir string, what ...string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(module, "scripts", "bootstraps"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script, append([]string{dir}, what...)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, bytes.TrimSpace(out))
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	st, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if st.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, st.Mode()); err != nil {
		t.Fatal(err)
	}
}
