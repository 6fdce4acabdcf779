package apitest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"agentchat/shared/apitest"
)

// A protocol is a document that is shown sentence by sentence: its rules stand in
// a table, and scripts that follow the order of its sections quote them.
type protocol struct {
	table  string // where the table is, from the root of the repository
	folder string // of the scripts, in testdata
	prefix string // of the rules' numbers: a capital letter
	name   string // of the document, as scripts name it as their source
}

var protocols = []protocol{
	{table: "docs/PROTOCOL.md", folder: "protocol", prefix: "P", name: "Agent Chat v1"},
	{table: "docs/SIGNED-CHATS.md", folder: "signed-chats", prefix: "S", name: "Chat protocol"},
}

const rulesHeading = "\n## Rules and their scripts\n"

// Every rule of a protocol is shown by something that runs, and every script of
// its folder shows rules of it, in their words and in their order.
func TestRules(t *testing.T) {
	root := os.DirFS("../..")
	for _, p := range protocols {
		t.Run(p.folder, func(t *testing.T) {
			doc, err := fs.ReadFile(root, p.table)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range p.faults(string(doc), apitest.Scripts(), root) {
				t.Error(fault)
			}
		})
	}
}

// A rule is a row of the table.
type rule struct {
	id    string   // prefix, section, dot, number in the section
	words string   // the document's own, without the quotes around them
	shown []string // by what
}

// faults returns what is wrong with the table in doc, and with the scripts it
// names. tree is the repository, with its tests.
func (p protocol) faults(doc string, scripts, tree fs.FS) []string {
	rules, faults := p.rules(doc)
	quoted := map[string][]string{} // the scripts of the folder, by rule
	names, err := fs.Glob(scripts, p.folder+"/*.txtar")
	if err != nil || len(names) == 0 {
		return append(faults, fmt.Sprintf("%d scripts in %s, %v", len(names), p.folder, err))
	}
	for _, name := range names {
		text, err := fs.ReadFile(scripts, name)
		if err != nil {
			return append(faults, err.Error())
		}
		script := strings.TrimSuffix(name, ".txtar")
		ids, wrong := p.quotes(script, string(text), rules)
		faults = append(faults, wrong...)
		for _, id := range ids {
			quoted[id] = append(quoted[id], script)
		}
		if len(ids) == 0 {
			faults = append(faults, script+" quotes no rule")
		}
	}
	for _, r := range rules {
		if len(r.shown) == 0 {
			faults = append(faults, r.id+": nothing shows it")
		}
		for _, by := range r.shown {
			switch {
			case strings.HasPrefix(by, p.folder+"/"):
				if !slices.Contains(quoted[r.id], by) {
					faults = append(faults, fmt.Sprintf("%s: %s does not quote it", r.id, by))
				}
			case !runs(by, scripts, tree):
				faults = append(faults, fmt.Sprintf("%s: %s is neither a contract script, nor one of a test, nor a test", r.id, by))
			}
		}
		for _, script := range quoted[r.id] {
			if !slices.Contains(r.shown, script) {
				faults = append(faults, fmt.Sprintf("%s: %s quotes it, and is not in its row", r.id, script))
			}
		}
	}
	return faults
}

var (
	row      = regexp.MustCompile(`^\| ([A-Z](\d+)\.(\d+)) \| "(.+)"[^"|]* \| ([^|]+) \|$`)
	evidence = regexp.MustCompile("`([^`]+)`")
)

// rules reads the table, which must number its rules one after the other.
func (p protocol) rules(doc string) (rules []rule, faults []string) {
	_, section, found := strings.Cut(doc, rulesHeading)
	if !found {
		return nil, []string{fmt.Sprintf("%s has no section %q", p.table, strings.TrimSpace(rulesHeading))}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	last := [2]int{-1, 0}
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| rule |") || strings.HasPrefix(line, "|-") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], p.prefix) {
			faults = append(faults, fmt.Sprintf("no row of a rule: %s", line))
			continue
		}
		number := [2]int{atoi(m[2]), atoi(m[3])}
		if !follows(last, number) {
			faults = append(faults, fmt.Sprintf("%s does not follow what stands before it", m[1]))
		}
		last = number
		r := rule{id: m[1], words: m[4]}
		for _, by := range evidence.FindAllStringSubmatch(m[5], -1) {
			r.shown = append(r.shown, by[1])
		}
		rules = append(rules, r)
	}
	if len(rules) == 0 {
		faults = append(faults, p.table+" has no rules")
	}
	return rules, faults
}

// follows reports whether the number b, section and rule, comes right after a;
// the first section is 0, of what stands before any heading, or 1.
func follows(a, b [2]int) bool {
	switch {
	case b == [2]int{a[0], a[1] + 1}:
		return true
	case a[0] < 0:
		return b[0] <= 1 && b[1] == 1
	default:
		return b == [2]int{a[0] + 1, 1}
	}
}

func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1 // which follows nothing
	}
	return n
}

// checks are the commands that may fail a script which asks in vain.
var checks = regexp.MustCompile(`(?m)^(! )?(status|header|code|field|parameter|json|body|holds|within|event|gap|problem|comment|closed) `)

// quotes returns the rules that a script quotes. Each must be of the section in
// the script's name, stand in the order of the document, be quoted word for
// word, and be shown by what comes before the next.
func (p protocol) quotes(script, text string, rules []rule) (ids, faults []string) {
	text, _, _ = strings.Cut(text, "\n-- ") // files
	opens := regexp.MustCompile(`^# (` + p.prefix + `(\d+)\.\d+) "`)
	wrong := func(format string, args ...any) {
		faults = append(faults, script+": "+fmt.Sprintf(format, args...))
	}
	if !strings.Contains(text, "\n#\t— "+p.name+", ") {
		wrong("no line says that its source is %s", p.name)
	}
	lines := strings.Split(text, "\n")
	place := -1
	for i := range lines {
		m := opens.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		said := []string{}
		for j := i; j < len(lines) && strings.HasPrefix(lines[j], "# ") && (j == i || !opens.MatchString(lines[j])); j++ {
			said = append(said, strings.TrimPrefix(lines[j], "# "))
		}
		at := slices.IndexFunc(rules, func(r rule) bool { return r.id == m[1] })
		if at < 0 {
			wrong("%s is no rule of %s", m[1], p.table)
			continue
		}
		if want := m[1] + ` "` + rules[at].words + `"`; !strings.HasPrefix(strings.Join(said, " "), want) {
			wrong("%s is quoted as %q; the table has %s", m[1], strings.Join(said, " "), want)
		}
		if section := fmt.Sprintf("%02d-", atoi(m[2])); !strings.HasPrefix(path.Base(script), section) {
			wrong("%s is of another section than the script, whose name does not begin with %s", m[1], section)
		}
		if at < place {
			wrong("%s stands behind %s", m[1], rules[place].id)
		}
		place = at
		ids = append(ids, m[1])
		shown := lines[i:]
		for len(shown) > 0 && strings.HasPrefix(shown[0], "# ") { // rules that stand together are shown together
			shown = shown[1:]
		}
		if next := slices.IndexFunc(shown, opens.MatchString); next >= 0 {
			shown = shown[:next]
		}
		if !checks.MatchString(strings.Join(shown, "\n")) {
			wrong("nothing behind %s checks anything", m[1])
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), faults
}

// runs reports whether there is what a row names: a contract script,
// FAMILY/NAME; a script of a test, by its path; or a test, FOLDER.TestName.
func runs(what string, scripts, tree fs.FS) bool {
	if strings.HasSuffix(what, ".txtar") {
		_, err := fs.Stat(tree, what)
		return err == nil && strings.HasPrefix(what, "cmd/agent-chat/testdata/script/")
	}
	folder, test, isTest := strings.Cut(what, ".Test")
	if !isTest {
		_, err := fs.Stat(scripts, what+".txtar")
		return err == nil && strings.Count(what, "/") == 1
	}
	files, err := fs.Glob(tree, folder+"/*_test.go")
	return err == nil && slices.ContainsFunc(files, func(name string) bool {
		b, err := fs.ReadFile(tree, name)
		return err == nil && strings.Contains(string(b), "\nfunc Test"+test+"(t *testing.T) {")
	})
}

// The checker of rules finds what it is there for.
func TestRulesJudge(t *testing.T) {
	const (
		head   = "# P\n" + rulesHeading + "\n| rule | it says | shown by |\n|---|---|---|\n"
		one    = "| P1.1 | \"IDs are \"short\".\" lower case | `protocol/01-ids`, `x.TestIDs` |\n"
		two    = "| P1.2 | \"They end.\" | `protocol/01-ids`, `agents/names`, `cmd/agent-chat/testdata/script/a.txtar` |\n"
		next   = "| P2.1 | \"More.\" | `x.TestIDs` |\n"
		source = "# What.\n#\n#\t— X, IDs\n\n"
		quote1 = "# P1.1 \"IDs are\n# \"short\".\" And so on.\nGET /\nstatus 200\n"
		quote2 = "# P1.2 \"They end.\"\nGET /\n! json /a\n-- f --\n# P9.9 \"no rule\"\n"
	)
	for _, tt := range []struct {
		name   string
		doc    string
		script string
		want   string // "": no fault
	}{
		{"all is well", head + one + two + next, source + quote1 + quote2, ""},
		{"rules that stand together", head + one + two, source + "# P1.1 \"IDs are\n# \"short\".\"\n# P1.2 \"They end.\"\n# And so on.\nGET /\nstatus 200\n", ""},
		{"no table", "# P\n", source + quote1, "no section"},
		{"an empty table", head, source, "has no rules"},
		{"a row that is none", head + one + two + "| P1.3 | says | `x.TestIDs` |\n", source + quote1 + quote2, "no row of a rule"},
		{"a rule of another protocol", head + one + two + strings.Replace(next, "P2", "S2", 1), source + quote1 + quote2, "no row of a rule"},
		{"a rule left out", head + one + strings.Replace(two, "P1.2", "P1.3", 1), source + quote1, "P1.3 does not follow"},
		{"a section left out", head + one + two + strings.Replace(next, "P2", "P3", 1), source + quote1 + quote2, "P3.1 does not follow"},
		{"a rule that nothing shows", head + one + two + "| P2.1 | \"More.\" | later |\n", source + quote1 + quote2, "P2.1: nothing shows it"},
		{"a script that there is not", head + one + strings.Replace(two, "agents/names", "agents/gone", 1), source + quote1 + quote2, "P1.2: agents/gone is neither"},
		{"a script of the folder that there is not", head + one + strings.Replace(two, "protocol/01-ids", "protocol/01-gone", 1), source + quote1 + quote2, "P1.2: protocol/01-gone does not quote it"},
		{"a test that there is not", head + strings.Replace(one, "TestIDs", "TestID", 1) + two, source + quote1 + quote2, "P1.1: x.TestID is neither"},
		{"a script of a test that there is not", head + one + strings.Replace(two, "a.txtar", "b.txtar", 1), source + quote1 + quote2, "b.txtar is neither"},
		{"a script that no test runs", head + one + strings.Replace(two, "cmd/agent-chat/testdata/script/a.txtar", "x/a.txtar", 1), source + quote1 + quote2, "x/a.txtar is neither"},
		{"a rule that its script does not quote", head + one + two, source + quote1, "P1.2: protocol/01-ids does not quote it"},
		{"a script that is in no row", head + one + strings.Replace(two, "`protocol/01-ids`, ", "", 1), source + quote1 + quote2, "P1.2: protocol/01-ids quotes it, and is not in its row"},
		{"a script without a rule", head + next, source + "GET /\nstatus 200\n", "quotes no rule"},
		{"a rule that is not in the table", head + one, source + quote1 + quote2, "P1.2 is no rule"},
		{"other words", head + one + two, source + quote1 + strings.Replace(quote2, "They end", "They begin", 1), "P1.2 is quoted as"},
		{"a quote in a file", head + one + two + strings.Replace(next, "x.TestIDs", "protocol/01-ids", 1), source + quote1 + quote2 + "# P2.1 \"More.\"\n", "P2.1: protocol/01-ids does not quote it"},
		{"another order", head + one + two, source + strings.Replace(quote2, "-- f --\n# P9.9 \"no rule\"\n", "", 1) + quote1, "P1.1 stands behind P1.2"},
		{"a rule of another section", head + one + two + strings.Replace(next, "x.TestIDs", "protocol/01-ids", 1), source + quote1 + "# P1.2 \"They end.\"\n# P2.1 \"More.\"\nGET /\nstatus 200\n", "P2.1 is of another section"},
		{"a rule that is not shown", head + one + two, source + strings.Replace(quote1, "status 200\n", "", 1) + quote2, "nothing behind P1.1 checks anything"},
		{"no source", head + one + two, quote1 + quote2, "no line says that its source is X"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scripts := fstest.MapFS{"protocol/01-ids.txtar": {Data: []byte(tt.script)}, "agents/names.txtar": {}}
			tree := fstest.MapFS{"x/x_test.go": {Data: []byte("package x\n\nfunc TestIDs(t *testing.T) {\n")}, "x/a.txtar": {}, "cmd/agent-chat/testdata/script/a.txtar": {}}
			p := protocol{table: "doc", folder: "protocol", prefix: "P", name: "X"}
			got := strings.Join(p.faults(tt.doc, scripts, tree), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("faults:\n%s\nwant %q", got, tt.want)
			}
		})
	}
}
