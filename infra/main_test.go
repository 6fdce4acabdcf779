package main // a program has no external tests: what it decides is not exported

import (
	"encoding/json"
	"flag"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"agentchat/shared/route"
)

var update = flag.Bool("update", false, "rewrite testdata/*.template.json")

// Secrets of an operator who runs cdk with them in the environment.
var inEnvironment = map[string]string{
	string(route.APIToken): "operators-api-token-0001", string(route.AdminToken): "operators-admin-token-0002",
	string(route.S2Token): "operators-s2-token-0003", string(route.SigningKeys): "operators-es256-key-0004", string(route.OriginLock): "operators-lock-0005",
}

// Two deployments: with nothing set, and with everything.
var deployments = map[string]map[string]string{
	"default": {},
	"full": {
		"stage": "prod", "version": "v1.2.3", "basin": "acme-chat", "s2Endpoint": "https://s2.example.org", "retention": "720h", "streamMaxAge": "10m",
		"corsOrigins": "https://app.example.org", "chatGrants": "required", "agentKeys": "required", "piiPolicy": "redact", "domain": "chat.example.org",
		"certificate": "arn:aws:acm:us-east-1:111122223333:certificate/0a1b2c3d-0000-4000-8000-000000000000",
		"waf":         "arn:aws:wafv2:us-east-1:111122223333:global/webacl/chat/0a1b2c3d-0000-4000-8000-000000000000",
		"lock":        "true,2", "alarmsEmail": "ops@example.org", "logDays": "90", "xray": "true", "reserve": "inbox:200,messages:100", "accountLimit": "1000",
	},
}

// A deployed is a deployment as it was synthesized.
type deployed struct {
	dir      string
	template template
}

var (
	bootstraps string // stands in for the built functions: what is in them is not looked at
	done       = map[string]deployed{}
)

// The CDK's kernel is a Node process that takes seconds to start: there is one.
func TestMain(m *testing.M) {
	flag.Parse()
	code := func() int {
		for name, value := range inEnvironment {
			os.Setenv(name, value) // before the kernel starts: it inherits them
		}
		tmp, err := os.MkdirTemp("", "infra")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(tmp)
		bootstraps = filepath.Join(tmp, "bootstraps")
		for family := range route.Families {
			dir := filepath.Join(bootstraps, family)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				panic(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "bootstrap"), []byte(family), 0o755); err != nil {
				panic(err)
			}
		}
		for name, settings := range deployments {
			done[name] = deploy(filepath.Join(tmp, name), settings)
		}
		return m.Run()
	}()
	jsii.Close()
	os.Exit(code)
}

func config(settings map[string]string) Config {
	c, err := parseConfig(func(key string) string {
		if key == "bootstraps" {
			return bootstraps
		}
		return settings[key]
	})
	if err != nil {
		panic(err)
	}
	return c
}

func flags() map[string]any {
	f, err := readFlags("../cdk.json")
	if err != nil {
		panic(err)
	}
	return f
}

// deploy synthesizes a deployment into dir; it panics where that is refused.
func deploy(dir string, settings map[string]string) deployed {
	app := newApp(flags(), dir)
	stack := newStack(app, config(settings))
	d := deployed{dir: dir}
	if err := synth(app); err != nil {
		panic(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, *stack.TemplateFile()))
	if err == nil {
		err = json.Unmarshal(b, &d.template)
	}
	if err != nil {
		panic(err)
	}
	return d
}

// both runs a test on every deployment.
func both(t *testing.T, test func(t *testing.T, c Config, d deployed)) {
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		t.Run(name, func(t *testing.T) { test(t, config(deployments[name]), done[name]) })
	}
}

// The templates are what was reviewed.
func TestGolden(t *testing.T) {
	both(t, func(t *testing.T, c Config, d deployed) {
		got, err := os.ReadFile(filepath.Join(d.dir, "agent-chat-"+c.Stage+".template.json"))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", filepath.Base(t.Name())+".template.json")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n"); !slices.Equal(g, w) {
			for i := range min(len(g), len(w)) {
				if g[i] != w[i] {
					t.Fatalf("line %d: %s; %s has %s (go -C infra test . -update, then read the difference)", i+1, g[i], golden, w[i])
				}
			}
			t.Fatalf("%d lines; %s has %d", len(g), golden, len(w))
		}
	})
}

// What breaks CloudFormation's rules, ours or cdk-nag's is refused, whichever
// rule it is: a rule that can't fail would be none.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	app := newApp(flags(), dir)
	stack := newStack(app, config(nil))
	broken := func(path ...string) awscdk.CfnResource {
		n := stack.Node()
		for _, id := range path {
			n = n.FindChild(&id).Node()
		}
		return n.DefaultChild().(awscdk.CfnResource)
	}
	override := func(r awscdk.CfnResource, path string, value any) { r.AddPropertyOverride(&path, value) }
	override(broken("inbox", "Function"), "Timeout", 901)
	override(broken("agents", "Function"), "Architectures", []string{"x86_64"})
	override(broken("agents", "Function"), "LoggingConfig.LogFormat", "Text")
	override(broken("inbox", "Function", "FunctionUrl"), "Cors", map[string]any{"AllowOrigins": []string{"*"}})
	override(broken("inbox", "Role"), "ManagedPolicyArns", []string{"arn:aws:iam::aws:policy/AdministratorAccess"})
	override(broken("Edge"), "DistributionConfig.DefaultCacheBehavior.Compress", true)
	for _, c := range *stack.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		if p, ok := c.(awslambda.CfnPermission); ok && *p.Action() == "lambda:InvokeFunction" {
			p.AddPropertyDeletionOverride(jsii.String("InvokedViaFunctionUrl"))
			break
		}
	}
	awssns.NewTopic(stack, jsii.String("Open"), nil)

	if err := synth(app); err == nil {
		t.Fatal("synth of a broken stack: no error")
	}
	report, err := os.ReadFile(filepath.Join(dir, "validation-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{
		"E3717", // CloudFormation's, of the timeout
		"FUNCTIONS_RUN_OUR_BOOTSTRAPS", "LOGS_ARE_JSON_AND_END", "URLS_LEAVE_IT_TO_THE_HANDLER", "PERMISSIONS_ARE_FOR_THE_URL", "ROLES_ARE_NARROW", "EDGE_PASSES_EVERYTHING",
		"AwsSolutions-SNS3", // cdk-nag's, of the topic
	} {
		if !strings.Contains(string(report), rule) {
			t.Errorf("the report does not have %s:\n%s", rule, report)
		}
	}
}

// A direct run refuses what it does not know, and says what there is.
func TestRunRefuses(t *testing.T) {
	for _, row := range []struct {
		name string
		arg  string
		want string
	}{
		{"no value", "stage", `argument "stage"`},
		{"unknown key", "stag=prod", "streamMaxAge"},
		{"bad value", "stage=Prod", "stage is"},
		{"functions that are not built", "bootstraps=testdata", "make bootstraps"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := run([]string{row.arg}, io.Discard); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("run(%s): %v; want an error with %q", row.arg, err, row.want)
			}
		})
	}
}

// The app takes words of the product and nothing else: the rest would drag its
// dependencies in here.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("glob: %d files, %v", len(files), err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if p := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(p, "agentchat/") && p != "agentchat/shared/route" && p != "agentchat/shared/api" {
				t.Errorf("%s imports %s; want the words route and api alone", name, p)
			}
		}
	}
}
