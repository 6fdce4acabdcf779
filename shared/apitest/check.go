package apitest

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"agentchat/shared/api"
)

// answered returns the last answer.
func answered(ts *testscript.TestScript) *answer {
	a := of(ts).last
	if a == nil {
		ts.Fatalf("nothing was answered yet")
	}
	return a
}

// status CODE
func status(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "status CODE", neg || len(args) != 1)
	if a := answered(ts); strconv.Itoa(a.status) != args[0] {
		ts.Fatalf("status = %d; want %s\n%s", a.status, args[0], a)
	}
}

// [!] header NAME [VALUE]
func header(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "[!] header NAME [VALUE]", len(args) < 1 || len(args) > 2)
	a := answered(ts)
	got := strings.Join(a.header.Values(args[0]), ", ")
	matches := got != "" && (len(args) == 1 || pattern(args[1]).MatchString(got))
	if matches == neg {
		ts.Fatalf("%s = %q\n%s", args[0], got, a)
	}
}

// code CODE
func code(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "code CODE", neg || len(args) != 1)
	a := answered(ts)
	if p, err := a.problem(); err != nil || p.Code != api.Code(args[0]) || p.Status != a.status {
		ts.Fatalf("problem = %d %s, %v; want %s\n%s", p.Status, p.Code, err, args[0], a)
	}
}

// field POINTER
func field(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "field POINTER", neg || len(args) != 1)
	a := answered(ts)
	if p, err := a.problem(); err != nil || p.Field != args[0] || p.Parameter != "" {
		ts.Fatalf("field = %q, parameter = %q, %v; want field %q\n%s", p.Field, p.Parameter, err, args[0], a)
	}
}

// parameter NAME
func parameter(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "parameter NAME", neg || len(args) != 1)
	a := answered(ts)
	if p, err := a.problem(); err != nil || p.Parameter != args[0] || p.Field != "" {
		ts.Fatalf("parameter = %q, field = %q, %v; want parameter %q\n%s", p.Parameter, p.Field, err, args[0], a)
	}
}

// [!] json POINTER [VALUE]
func jsonAt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "[!] json POINTER [VALUE]", len(args) < 1 || len(args) > 2)
	a := answered(ts)
	got, err := at(a.body, args[0])
	if err != nil && !errors.Is(err, errAbsent) {
		ts.Fatalf("json %s: %v\n%s", args[0], err, a)
	}
	matches := err == nil
	if matches && len(args) == 2 {
		want := args[1]
		if file, ok := strings.CutPrefix(want, "@"); ok {
			want = ts.ReadFile(file)
		}
		matches = same(got, want)
	}
	if matches == neg {
		ts.Fatalf("json %s = %s (%v)\n%s", args[0], got, err, a)
	}
}

// body FILE
func body(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "body FILE", neg || len(args) != 1)
	a := answered(ts)
	want := strings.TrimSpace(ts.ReadFile(args[0]))
	if got, err := at(a.body, ""); err != nil || !same(got, want) {
		ts.Fatalf("body is not %s, %v:\n%s\ngot:\n%s", args[0], err, want, a)
	}
}

// [!] holds TEXT
func holds(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "[!] holds TEXT", len(args) != 1)
	if a := answered(ts); bytes.Contains(a.body, []byte(args[0])) == neg {
		ts.Fatalf("holds %q = %v\n%s", args[0], !neg, a)
	}
}

// [!] within DURATION
func within(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "[!] within DURATION", len(args) != 1)
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	if a := answered(ts); (a.took <= d) == neg {
		ts.Fatalf("it took %v\n%s", a.took, a)
	}
}

// save NAME POINTER
func save(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, "save NAME POINTER", neg || len(args) != 2)
	text, err := stringAt(answered(ts).body, args[1])
	ts.Check(err)
	ts.Setenv(args[0], text)
}

var errAbsent = errors.New("no such value")

// at returns the value at a JSON pointer, in its shortest form.
func at(doc []byte, pointer string) (jsontext.Value, error) {
	v := jsontext.Value(bytes.Clone(doc))
	if !jsontext.Pointer(pointer).IsValid() {
		return nil, fmt.Errorf("%q is no JSON pointer", pointer)
	}
	for token := range jsontext.Pointer(pointer).Tokens() {
		var err error
		if v, err = child(v, token); err != nil {
			return nil, fmt.Errorf("%s: %w", pointer, err)
		}
	}
	return v, v.Format()
}

func child(v jsontext.Value, token string) (jsontext.Value, error) {
	switch v.Kind() {
	case jsontext.KindBeginObject:
		var members map[string]jsontext.Value
		if err := json.Unmarshal(v, &members); err != nil {
			return nil, err
		}
		if c, ok := members[token]; ok {
			return c, nil
		}
	case jsontext.KindBeginArray:
		var items []jsontext.Value
		if err := json.Unmarshal(v, &items); err != nil {
			return nil, err
		}
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(items) {
			return items[i], nil
		}
	default:
	}
	return nil, errAbsent
}

// stringAt returns the string at a pointer, without its quotes, or the JSON there.
func stringAt(doc []byte, pointer string) (string, error) {
	v, err := at(doc, pointer)
	if err != nil {
		return "", err
	}
	if v.Kind() != jsontext.KindString {
		return v.String(), nil
	}
	var s string
	err = json.Unmarshal(v, &s)
	return s, err
}

// same reports whether got is want: JSON, else a string; with placeholders.
func same(got jsontext.Value, want string) bool {
	w := jsontext.Value(want)
	id := len(want) == 16 && got.Kind() == '"' && w.Kind() == '0' // a key's, all of whose hex digits happen to be decimal
	if w.Format() != nil || id {
		w, _ = jsontext.AppendQuote(nil, want) // not UTF-8: it can't be equal, and isn't
	}
	return string(got) == string(w) || strings.Contains(string(w), "<") && pattern(string(w)).MatchString(string(got))
}

// pattern returns what matches text, its placeholders anything of their kind.
func pattern(text string) *regexp.Regexp {
	p := regexp.QuoteMeta(text)
	for name, form := range placeholders() {
		p = strings.ReplaceAll(p, regexp.QuoteMeta("<"+name+">"), form)
	}
	return regexp.MustCompile(`(?s)^` + p + `$`)
}

// placeholders returns what stands for what a server makes.
func placeholders() map[string]string {
	return map[string]string{
		"time":         `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`,
		"message":      `msg_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}`,
		"conversation": `conv_[0-9a-f]{32}`,
		"key":          `[0-9a-f]{16}`,
		"secret":       `ak_[a-z0-9._-]+~[0-9a-f]{16}~[A-Za-z0-9_-]{43}`,
		"request":      `[A-Za-z0-9._-]{1,128}`,
		"any":          `.*`,
	}
}
