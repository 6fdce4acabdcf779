package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"agentchat/shared/route"
)

// A template is CloudFormation's JSON.
type template map[string]any

// A resource is one of a template's.
type resource struct {
	id         string
	properties any
}

// of returns the resources of a type, by their ids.
func (t template) of(kind string) []resource {
	resources := t["Resources"].(map[string]any)
	var all []resource
	for _, id := range slices.Sorted(maps.Keys(resources)) {
		if at(resources[id], "Type") == kind {
			all = append(all, resource{id, at(resources[id], "Properties")})
		}
	}
	return all
}

// at returns the member of v at path, or nil.
func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// list returns v as a list: CloudFormation takes one value for a list of one.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// family returns whose resource it is: ids begin with its construct's.
func (r resource) family(t *testing.T) string {
	t.Helper()
	for family := range route.Families {
		if strings.HasPrefix(r.id, family) {
			return family
		}
	}
	t.Fatalf("%s is of no family", r.id)
	return ""
}

// There is one function for each family of the table, which is each folder that
// has a Lambda function, with a URL that takes answers as the family gives them.
func TestFunctions(t *testing.T) {
	mains, err := filepath.Glob("../functions/*/lambda/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, m := range mains {
		folders = append(folders, filepath.Base(filepath.Dir(filepath.Dir(m))))
	}
	families := slices.Sorted(maps.Keys(route.Families))
	if !slices.Equal(folders, families) {
		t.Errorf("folders with a function are %q; the table has %q", folders, families)
	}
	both(t, func(t *testing.T, c Config, d deployed) {
		checked := assertions.Template_FromJSON((*map[string]any)(&d.template), nil)
		for kind, n := range map[string]int{"AWS::Lambda::Function": 1, "AWS::Lambda::Url": 1, "AWS::Lambda::Permission": 2, "AWS::Logs::LogGroup": 1, "AWS::IAM::Role": 1} {
			checked.ResourceCountIs(&kind, jsii.Number(float64(n*len(families))))
		}
		mode := map[string]string{}
		for _, f := range d.template.of("AWS::Lambda::Function") {
			name := f.family(t)
			needs := route.Families[name]
			mode[f.id] = "BUFFERED"
			if needs.Stream {
				mode[f.id] = "RESPONSE_STREAM"
			}
			for _, want := range []struct {
				path  string
				value any
			}{
				{"Runtime", "provided.al2023"},
				{"Handler", "bootstrap"},
				{"MemorySize", float64(needs.Memory)},
				{"Timeout", c.timeout(needs).Seconds()},
				{"Environment.Variables.AGENT_CHAT_INVOKE_MODE", mode[f.id]},
				{"LoggingConfig.LogFormat", "JSON"},
			} {
				if got := at(f.properties, strings.Split(want.path, ".")...); got != want.value {
					t.Errorf("%s: %s is %v; want %v", name, want.path, got, want.value)
				}
			}
			if got := at(f.properties, "Architectures"); !reflect.DeepEqual(got, []any{"arm64"}) {
				t.Errorf("%s: Architectures is %v; want arm64, which the bootstraps are built for", name, got)
			}
			wantAge := any(nil)
			if needs.Stream {
				wantAge = c.StreamMaxAge.String()
				if c.StreamMaxAge >= c.timeout(needs) {
					t.Errorf("%s: a stream lives %v and its function %v", name, c.StreamMaxAge, c.timeout(needs))
				}
			}
			if got := at(f.properties, "Environment", "Variables", "AGENT_CHAT_STREAM_MAX_AGE"); got != wantAge {
				t.Errorf("%s: a stream lives %v; want %v", name, got, wantAge)
			}
		}
		for _, u := range d.template.of("AWS::Lambda::Url") {
			fn := at(u.properties, "TargetFunctionArn", "Fn::GetAtt")
			if got, want := at(u.properties, "InvokeMode"), mode[list(fn)[0].(string)]; got != want {
				t.Errorf("%s: InvokeMode is %v; its function answers %s", u.id, got, want)
			}
			if got := at(u.properties, "AuthType"); got != "NONE" {
				t.Errorf("%s: AuthType is %v; want NONE", u.id, got)
			}
		}
	})
	for name, f := range route.Families {
		if got := config(nil).timeout(f); got != f.Timeout {
			t.Errorf("%s: a default deployment gives it %v; the table says %v", name, got, f.Timeout)
		}
	}
}

// Since October 2025 a public function URL needs two permissions; with one of
// them every call is AWS's own 403.
func TestPermissions(t *testing.T) {
	both(t, func(t *testing.T, _ Config, d deployed) {
		got := map[string][]string{}
		for _, p := range d.template.of("AWS::Lambda::Permission") {
			what := at(p.properties, "Action").(string)
			switch {
			case at(p.properties, "Principal") != "*":
				t.Errorf("%s: Principal is %v; want everybody", p.id, at(p.properties, "Principal"))
			case what == "lambda:InvokeFunctionUrl" && at(p.properties, "FunctionUrlAuthType") != "NONE":
				t.Errorf("%s: its condition is not that of a function URL", p.id)
			case what == "lambda:InvokeFunction" && at(p.properties, "InvokedViaFunctionUrl") != true:
				t.Errorf("%s: anybody may invoke the function, past its URL", p.id)
			}
			got[p.family(t)] = append(got[p.family(t)], what)
		}
		for family := range route.Families {
			slices.Sort(got[family])
			if want := []string{"lambda:InvokeFunction", "lambda:InvokeFunctionUrl"}; !slices.Equal(got[family], want) {
				t.Errorf("%s: permissions %q; want %q", family, got[family], want)
			}
		}
	})
}

// A function may write its own log and read the secrets that the table gives it,
// and nothing else.
func TestPolicies(t *testing.T) {
	names := map[route.Secret]string{route.APIToken: "ApiToken", route.AdminToken: "AdminToken", route.S2Token: "S2Token", route.SigningKeys: "SigningKeys"}
	both(t, func(t *testing.T, c Config, d deployed) {
		policies := d.template.of("AWS::IAM::Policy")
		if len(policies) != len(route.Families) {
			t.Errorf("%d policies; want one for each of %d functions", len(policies), len(route.Families))
		}
		for _, p := range policies {
			family := p.family(t)
			if roles := list(at(p.properties, "Roles")); len(roles) != 1 || !strings.HasPrefix(at(roles[0], "Ref").(string), family) {
				t.Errorf("%s is of the roles %v", p.id, roles)
			}
			var readable []string
			for _, s := range list(at(p.properties, "PolicyDocument", "Statement")) {
				var actions []string
				for _, a := range list(at(s, "Action")) {
					actions = append(actions, a.(string))
				}
				resources := list(at(s, "Resource"))
				switch strings.Join(actions, " ") {
				case "secretsmanager:GetSecretValue":
					for _, r := range resources {
						id := at(r, "Ref").(string)
						readable = append(readable, id[:len(id)-8]) // the CDK adds a hash
					}
				case "logs:CreateLogStream logs:PutLogEvents":
					if log := list(at(resources[0], "Fn::GetAtt"))[0]; len(resources) != 1 || !strings.HasPrefix(log.(string), family+"Logs") {
						t.Errorf("%s may write to %v", family, resources)
					}
				case "xray:PutTelemetryRecords xray:PutTraceSegments": // AWS has no narrower resource for these
					if !c.XRay {
						t.Errorf("%s may trace; xray is off", family)
					}
				default:
					t.Errorf("%s may %q", family, actions)
				}
				if slices.Contains(resources, any("*")) && !strings.HasPrefix(actions[0], "xray:") {
					t.Errorf("%s may %q of everything", family, actions)
				}
			}
			var want []string
			for _, s := range route.Families[family].Secrets {
				want = append(want, names[s])
			}
			for _, label := range c.Locks {
				want = append(want, "OriginLock"+label)
			}
			slices.Sort(readable)
			slices.Sort(want)
			if !slices.Equal(readable, want) {
				t.Errorf("%s may read the secrets %q; want %q", family, readable, want)
			}
		}
	})
}

// No secret of whoever runs cdk gets into anything that it writes, and the
// functions are given no variable that the server does not read.
func TestSecrets(t *testing.T) {
	known := variables(t)
	both(t, func(t *testing.T, _ Config, d deployed) {
		files := 0
		err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			for name, secret := range inEnvironment {
				if bytes.Contains(b, []byte(secret)) {
					t.Errorf("%s has the value of %s", path, name)
				}
			}
			return err
		})
		if err != nil || files < 5 {
			t.Errorf("walk: %d files, %v; want the template, its manifest and the functions", files, err)
		}
		for _, f := range d.template.of("AWS::Lambda::Function") {
			for name, value := range at(f.properties, "Environment", "Variables").(map[string]any) {
				variable, isSecret := strings.CutSuffix(name, "_SECRET")
				if !known[variable] {
					t.Errorf("%s: nothing reads %s", f.id, name)
				}
				if _, secret := inEnvironment[variable]; secret != isSecret {
					t.Errorf("%s: %s is %v; want a secret's ARN in NAME_SECRET, and nothing else there", f.id, name, value)
				}
			}
		}
		for _, s := range d.template.of("AWS::SecretsManager::Secret") {
			if v := at(s.properties, "SecretString"); v != nil && v != `{"keys":[]}` {
				t.Errorf("%s: its value is in the template", s.id)
			}
		}
		for id, o := range d.template["Outputs"].(map[string]any) {
			if b, err := json.Marshal(o); err != nil || bytes.Contains(b, []byte("{{resolve")) {
				t.Errorf("output %s shows a secret: %s, %v", id, b, err)
			}
		}
	})
}

// variables returns the environment variables that are named in the server.
func variables(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, dir := range []string{"../shared/env", "../shared/lambdahost"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("glob %s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if s, err := strconv.Unquote(l.Value); err == nil && strings.HasPrefix(s, "AGENT_CHAT_") {
						known[s] = true
					}
				}
				return true
			})
		}
	}
	return known
}

// A default deployment goes into an account whose limit is 10: it reserves
// nothing. What is reserved for streams is apart from the rest.
func TestReserved(t *testing.T) {
	both(t, func(t *testing.T, c Config, d deployed) {
		for _, f := range d.template.of("AWS::Lambda::Function") {
			want := any(nil)
			if n, ok := c.Reserve[f.family(t)]; ok {
				want = float64(n)
			}
			if got := at(f.properties, "ReservedConcurrentExecutions"); got != want {
				t.Errorf("%s: %v reserved; want %v", f.id, got, want)
			}
		}
	})
}

// Every function has the four alarms, and each is mailed if there is an address,
// by a topic that lets CloudWatch in.
func TestAlarms(t *testing.T) {
	both(t, func(t *testing.T, c Config, d deployed) {
		alarms := map[string][]string{}
		for _, a := range d.template.of("AWS::CloudWatch::Alarm") {
			alarms[a.family(t)] = append(alarms[a.family(t)], at(a.properties, "MetricName").(string))
			if mailed := at(a.properties, "AlarmActions") != nil; mailed != (c.AlarmsEmail != "") {
				t.Errorf("%s: has an action is %v; the address is %q", a.id, mailed, c.AlarmsEmail)
			}
		}
		for family := range route.Families {
			slices.Sort(alarms[family])
			if want := []string{"Duration", "Errors", "Throttles", "Url5xxCount"}; !slices.Equal(alarms[family], want) {
				t.Errorf("%s: alarms of %q; want %q", family, alarms[family], want)
			}
		}
		if topics := d.template.of("AWS::SNS::TopicPolicy"); c.AlarmsEmail != "" {
			publishers := 0
			for _, s := range list(at(topics[0].properties, "PolicyDocument", "Statement")) {
				if at(s, "Effect") == "Allow" && at(s, "Principal", "Service") == "cloudwatch.amazonaws.com" {
					publishers++
				}
			}
			if publishers != 1 {
				t.Errorf("CloudWatch is let in by %d statements; want one", publishers)
			}
		}
	})
}

// cfn-lint knows rules that the CDK's own engine does not.
func TestCfnLint(t *testing.T) {
	lint, err := exec.LookPath("cfn-lint")
	if err != nil {
		t.Skip("cfn-lint is not installed: pip install cfn-lint")
	}
	// W3005: the CDK adds dependencies that a reference states already.
	args := []string{"--ignore-checks", "W3005", "--"}
	for name := range deployments {
		args = append(args, filepath.Join("testdata", name+".template.json"))
	}
	if out, err := exec.CommandContext(t.Context(), lint, args...).CombinedOutput(); err != nil {
		t.Errorf("cfn-lint: %v\n%s", err, out)
	}
}
