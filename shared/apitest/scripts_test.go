package apitest_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentchat/shared/apitest"
	"agentchat/shared/route"
)

// Every operation of the protocol has a script that calls it.
func TestEveryOperationHasAScript(t *testing.T) {
	call := regexp.MustCompile(`(?m)^(?:http |begin \S+ )?(GET|HEAD|POST|PUT|PATCH|DELETE) (/\S*)`)
	follow := regexp.MustCompile(`(?m)^follow \S+ (/\S*)`)
	called, followed := map[string]bool{}, map[string]bool{}
	eachScript(t, func(_, script string) {
		for _, m := range call.FindAllStringSubmatch(script, -1) {
			called[m[1]+" "+pattern(m[2])] = true
		}
		for _, m := range follow.FindAllStringSubmatch(script, -1) {
			followed[pattern(m[1])] = true
		}
	})
	for _, r := range route.Table {
		if !called[r.Method+" "+r.Path] {
			t.Errorf("no script calls %s: %s %s", r.Op, r.Method, r.Path)
		}
		if r.Kind == route.Events && !followed[r.Path] {
			t.Errorf("no script follows %s: %s", r.Op, r.Path)
		}
	}
}

// pattern returns the path of the table that a target is under, "" if none.
func pattern(target string) string {
	target, _, _ = strings.Cut(target, "?")
	for _, r := range route.Table {
		if ok, err := path.Match(regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(r.Path, "*"), target); ok && err == nil {
			return r.Path
		}
	}
	return ""
}

// Every script says what holds, and what it rests on.
func TestEveryScriptNamesItsSource(t *testing.T) {
	sources := []string{}
	for _, p := range protocols {
		sources = append(sources, regexp.QuoteMeta(p.table), regexp.QuoteMeta(p.name))
	}
	head := regexp.MustCompile(`\A# \S[^\n]+\n(#.*\n)*#\t— (` + strings.Join(sources, "|") + `)`)
	families := map[string]bool{}
	eachScript(t, func(name, script string) {
		families[path.Dir(name)] = true
		if !head.MatchString(script) {
			t.Errorf("%s does not begin with what holds and a line \"#\\t— SOURCE, SECTION\"", name)
		}
	})
	for family := range route.Families {
		if !families[family] {
			t.Errorf("no scripts of the family %s", family)
		}
	}
	for family := range families {
		_, ok := route.Families[family]
		if !ok && !slices.ContainsFunc(protocols, func(p protocol) bool { return p.folder == family }) {
			t.Errorf("scripts of %s, which is neither a family nor a protocol", family)
		}
	}
}

func eachScript(t *testing.T, f func(name, script string)) {
	t.Helper()
	names, err := fs.Glob(apitest.Scripts(), "*/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d scripts, %v", len(names), err)
	}
	for _, name := range names {
		script, err := fs.ReadFile(apitest.Scripts(), name)
		if err != nil {
			t.Fatal(err)
		}
		f(name, string(script))
	}
}
