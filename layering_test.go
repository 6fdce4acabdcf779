// Package agentchat_test holds the rules of the repository as tests. They parse
// the files themselves, since a test that calls the go command passes from its
// cache when a file is added.
package agentchat_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// layers lists the packages from the ground up. A package may import those of
// the layers above its own line, and within its layer those that stand before
// it. A folder that no entry covers fails the test; an entry ending in "/..."
// covers a tree whose packages do not import each other, unless a pattern of
// path.Match covers it.
var layers = []struct {
	name     string
	packages []string
}{
	{"words", []string{"shared/ident", "shared/stream", "shared/api", "shared/route"}},
	{"rules", []string{"shared/strictjson", "shared/valid", "shared/sse", "shared/cursor", "shared/event", "shared/agent", "shared/contact", "shared/signed", "shared/pii", "shared/chat"}},
	{"state", []string{
		"shared/deadline",
		"shared/s2local/engine", "shared/stream/localstream", "shared/stream/s2stream", "shared/stream/faultstream",
		"shared/stream/streamtest", "shared/stream/interleave", "shared/s2local/wire", "shared/journal", "shared/mailbox", "shared/chatlog", "shared/directory", "shared/addressbook", "shared/monitor",
	}},
	{"service", []string{"shared/auth", "shared/env", "shared/openapi", "shared/serve", "shared/lambdahost", "shared/client", "shared/coordinator", "shared/gateway", "shared/apitest"}},
	{"functions", []string{"functions/..."}},
	{"registry", []string{"functions"}},
	{"world", []string{"shared/simulation"}},
	{"mains", []string{"functions/*/lambda", "cmd/...", "scripts/..."}},
}

// only lists the modules, and the calls, that a few packages alone may use.
var only = []struct {
	what    string // import path prefix
	allowed []string
	why     string
}{
	{"github.com/cockroachdb/pebble", []string{"shared/s2local/engine"}, "the engine hides its storage"},
	{"github.com/s2-streamstore/s2-sdk-go", []string{"shared/stream/s2stream", "shared/s2local/wire"}, "one backend speaks to S2, one server speaks its types"},
	{"github.com/aws/aws-lambda-go", []string{"shared/lambdahost"}, "handlers do not know their host"},
	{"github.com/awslabs/aws-lambda-go-api-proxy", []string{"shared/lambdahost"}, "handlers do not know their host"},
	{"github.com/aws/aws-sdk-go-v2", []string{"shared/lambdahost"}, "secrets reach the rest as variables"},
	{"github.com/aws/aws-cdk-go", []string{"infra"}, "infra is a module of its own"},
	{"github.com/spf13/cobra", []string{"cmd/agent-chat"}, "flags belong to the command line"},
	{"agentchat/shared/s2local/engine", []string{"shared/s2local/wire", "shared/stream/localstream", "cmd/agent-chat"}, "a Lambda must not link the embedded store"},
	{"agentchat/shared/stream/localstream", []string{"cmd/agent-chat", "shared/stream/interleave", "shared/simulation"}, "a Lambda must not link the embedded store"},
}

// testOnly lists what no shipped code may import.
var testOnly = []string{
	"testing", "agentchat/shared/stream/streamtest", "agentchat/shared/stream/faultstream", "agentchat/shared/stream/interleave", "agentchat/shared/apitest", "agentchat/shared/simulation",
	"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/nyaruka/phonenumbers",
}

// testKits are the packages that exist for tests, and so may import what is testOnly.
var testKits = []string{"shared/stream/streamtest", "shared/stream/faultstream", "shared/stream/interleave", "shared/apitest", "shared/simulation"}

const maxLines = 400 // of a file that is not a test

// Who may import whom, from the files themselves.
func TestLayering(t *testing.T) {
	rank := func(dir string) (layer, place int, ok bool) {
		for i, l := range layers {
			for j, p := range l.packages {
				tree, isTree := strings.CutSuffix(p, "/...")
				if m, _ := path.Match(p, dir); m {
					return i, j, true
				}
				if isTree && strings.HasPrefix(dir, tree+"/") && !ok {
					layer, place, ok = i, j, true
				}
			}
		}
		return layer, place, ok
	}
	for _, f := range goFiles(t) {
		dir := path.Dir(f)
		if dir == "." {
			continue // the repository's own rules
		}
		layer, place, ok := rank(dir)
		if !ok {
			t.Errorf("%s: no layer covers the folder %s; give it a place in layers", f, dir)
			continue
		}
		isTest := strings.HasSuffix(f, "_test.go")
		for _, imp := range imports(t, f) {
			if !isTest && !slices.Contains(testKits, dir) && slices.ContainsFunc(testOnly, func(p string) bool { return hasPath(imp, p) }) {
				t.Errorf("%s imports %s, which is for tests only", f, imp)
			}
			if layers[layer].name == "words" && !isTest && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				t.Errorf("%s imports %s; words use the standard library only", f, imp)
			}
			for _, o := range only {
				if !isTest && hasPath(imp, o.what) && !slices.Contains(o.allowed, dir) {
					t.Errorf("%s imports %s: %s", f, imp, o.why)
				}
			}
			local, isLocal := strings.CutPrefix(imp, "agentchat/")
			if !isLocal || isTest || local == dir {
				continue
			}
			l, p, ok := rank(local)
			if !ok || l > layer || l == layer && p >= place {
				t.Errorf("%s (%s) imports %s, which does not stand above it", f, layers[layer].name, imp)
			}
			if strings.HasPrefix(dir, "functions/") && hasPath(local, "functions") && local != path.Dir(dir) {
				t.Errorf("%s imports %s; a function is of its own family alone", f, imp)
			}
		}
	}
}

// A file is split by idea before it grows too long, and no package is named for nothing.
func TestFiles(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "base", "core", "manager"}
	for _, f := range goFiles(t) {
		for _, part := range strings.Split(path.Dir(f), "/") {
			if slices.Contains(vague, part) {
				t.Errorf("%s: a package named %s says nothing of what it holds", f, part)
			}
		}
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > maxLines {
			t.Errorf("%s has %d lines; want at most %d: split it by idea", f, n, maxLines)
		}
	}
}

// Nothing that was built is a source: a compiler's output lies in a folder that is
// ignored, or is ignored itself, so that no commit takes it along.
func TestBuilt(t *testing.T) {
	b, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	ignored := func(p string) bool {
		for pattern := range strings.Lines(string(b)) {
			pattern = strings.TrimSuffix(strings.TrimSpace(pattern), "/")
			of, rooted := strings.CutPrefix(pattern, "/")
			name := path.Base(p)
			if rooted {
				name = p
			}
			if m, _ := path.Match(of, name); m {
				return true
			}
		}
		return false
	}
	magic := []string{"\x7fELF", "\xcf\xfa\xed\xfe", "MZ"}
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		p = filepath.ToSlash(p)
		switch {
		case err != nil || p == ".":
			return err
		case d.IsDir() && (d.Name() == ".git" || ignored(p)):
			return filepath.SkipDir
		case !d.Type().IsRegular() || ignored(p):
			return nil
		}
		head := make([]byte, 4)
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		n, _ := f.Read(head) // an empty file is none
		if slices.ContainsFunc(magic, func(m string) bool { return strings.HasPrefix(string(head[:n]), m) }) {
			t.Errorf("%s is a program that was built; remove it, or have .gitignore name it", p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The picture in docs/ARCHITECTURE.md shows every package but mains and test kits.
func TestPicture(t *testing.T) {
	b, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	picture := strings.SplitN(string(b), "```", 3)[1]
	shown := strings.FieldsFunc(picture, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, f := range goFiles(t) {
		dir := path.Dir(f)
		if path.Base(dir) == "lambda" || slices.Contains(testKits, dir) {
			continue
		}
		if first, _, _ := strings.Cut(dir, "/"); first != "shared" && first != "functions" {
			continue
		}
		if !slices.Contains(shown, path.Base(dir)) {
			t.Errorf("the picture does not show %s", dir)
		}
	}
}

// Only env reads the environment; a command, or the host of a Lambda function, hands it os.Getenv.
func TestEnvironment(t *testing.T) {
	reads := regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Environ|ExpandEnv)\b`)
	allowed := []string{"shared/env", "shared/lambdahost", "cmd/agent-chat"}
	for _, f := range goFiles(t) {
		if strings.HasSuffix(f, "_test.go") || slices.Contains(allowed, path.Dir(f)) || slices.Contains(testKits, path.Dir(f)) {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := reads.Find(b); m != nil {
			t.Errorf("%s calls %s; only shared/env reads the environment", f, m)
		}
	}
}

// docs/ARCHITECTURE.md says of each direct dependency why it is one, and of no other.
func TestDependencies(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	direct := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read("go.mod"), -1) { // an indirect one has a comment
		direct[m[1]] = true
	}
	_, table, found := strings.Cut(read("docs/ARCHITECTURE.md"), "\n## Direct dependencies\n")
	if !found || len(direct) < 5 {
		t.Fatalf("%d direct dependencies, and a section on them: %t", len(direct), found)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9.-]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(table, -1) {
		listed[m[1]] = true
		if !direct[m[1]] {
			t.Errorf("docs/ARCHITECTURE.md lists %s, which go.mod does not require", m[1])
		}
	}
	for m := range direct {
		if !listed[m] {
			t.Errorf("docs/ARCHITECTURE.md does not say why %s is required", m)
		}
	}
}

// Every decision has a number, a date, a status and the five parts.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("docs/adr/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("glob docs/adr: %d files, %v", len(files), err)
	}
	name := regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	seen := map[string]string{}
	for _, f := range files {
		m := name.FindStringSubmatch(filepath.Base(f))
		if m == nil {
			t.Errorf("%s: want NNNN-title.md", f)
			continue
		}
		if other, twice := seen[m[1]]; twice {
			t.Errorf("%s has the number of %s", f, other)
		}
		seen[m[1]] = f
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`(?m)^# ` + m[1] + `\. `, `(?m)^Status: (accepted|superseded by \d{4})$`, `(?m)^Date: \d{4}-\d{2}-\d{2}$`,
			`(?m)^## Context$`, `(?m)^## Decision$`, `(?m)^## Consequences$`, `(?m)^## What lost$`,
		} {
			if !regexp.MustCompile(want).Match(b) {
				t.Errorf("%s: no line that matches %s", f, want)
			}
		}
	}
}

// goFiles returns the Go files of this module, with slashes, from its root.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() && p != "." && isModule(p):
			return filepath.SkipDir // has rules of its own
		case strings.HasSuffix(p, ".go"):
			files = append(files, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("walk: %d files, %v", len(files), err)
	}
	return files
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range f.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// hasPath reports whether imp is p or below it.
func hasPath(imp, p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }
