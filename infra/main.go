// Command infra is the CDK app: it turns the route table into a CloudFormation
// template. `cdk` runs it, or it runs by itself with the same settings as
// arguments, and then writes ../cdk.out:
//
//	go -C infra run . stage=prod basin=acme-chat
//
// It needs Node for the CDK's kernel, and no network and no credentials. It is a
// module of its own, since the CDK is larger than all of the product.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"agentchat/shared/route"
)

// rules are what a template of ours must keep beside CloudFormation's own rules.
//
//go:embed rules.guard
var rules string

func main() {
	err := run(os.Args[1:], os.Stderr)
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

// run synthesizes the app. Arguments are KEY=VALUE, as cdk's -c.
func run(args []string, warnings io.Writer) error {
	flags, err := readFlags("../cdk.json")
	if err != nil {
		return err
	}
	out := "../cdk.out" // CDK_OUTDIR, which cdk sets, goes before it
	app := newApp(flags, out)
	get := func(key string) string {
		if v := app.Node().TryGetContext(&key); v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	given := map[string]string{}
	for _, a := range args {
		key, value, found := strings.Cut(a, "=")
		if _, known := settings[key]; !found || !known {
			return fmt.Errorf("argument %q is not KEY=VALUE with one of these keys:\n%s", a, usage())
		}
		given[key] = value
	}
	c, err := parseConfig(func(key string) string {
		if v, ok := given[key]; ok {
			return v
		}
		return get(key)
	})
	if err != nil {
		return fmt.Errorf("settings:\n%w\n\nThere are:\n%s", err, usage())
	}
	if c.Basin == "" {
		fmt.Fprintln(warnings, "infra: no basin is given; names of basins are global on S2, and agent-chat is taken by whoever was first")
	}
	for family := range route.Families {
		if _, err := os.Stat(filepath.Join(c.Bootstraps, family, "bootstrap")); err != nil {
			return fmt.Errorf("the function of %s is not built; make bootstraps does it: %w", family, err)
		}
	}
	newStack(app, c)
	return synth(app)
}

// synth writes the templates. The CDK panics where it refuses them; it has said
// why on standard error by then.
func synth(app awscdk.App) (err error) {
	defer func() {
		if v := recover(); v != nil {
			reason, _, _ := strings.Cut(fmt.Sprint(v), "\n") // without the kernel's stack
			err = errors.New(reason)
		}
	}()
	app.Synth(nil)
	return nil
}

// newApp returns an app that synth refuses on what CloudFormation, our own rules
// or cdk-nag would refuse. flags stand in for those that cdk reads from cdk.json.
func newApp(flags map[string]any, outdir string) awscdk.App {
	context := maps.Clone(flags)
	context["@aws-cdk/core:validateAgainstDefaultRules"] = true
	props := &awscdk.AppProps{Context: &context, AnalyticsReporting: jsii.Bool(false), TreeMetadata: jsii.Bool(false)}
	if os.Getenv("CDK_OUTDIR") == "" { //nolint:forbidigo // shared/env is the product's; this is cdk's own variable
		props.Outdir = &outdir
	}
	app := awscdk.NewApp(props)
	awscdk.Validations_Of(app).AddPlugins(awscdk.NewCloudFormationValidatePlugin(&awscdk.CloudFormationValidatePluginProps{
		GuardRules: &[]*awscdk.ValidationRuleSource{{Name: jsii.String("agent-chat"), Content: &rules}},
	}))
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Reports: jsii.Bool(false), Verbose: jsii.Bool(true)}), nil)
	return app
}

// readFlags returns the CDK's feature flags, which a direct run does not get from cdk.
func readFlags(file string) (map[string]any, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w (run it as go -C infra run .)", err)
	}
	var doc struct{ Context map[string]any }
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return doc.Context, nil
}
