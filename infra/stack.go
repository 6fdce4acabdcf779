package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"agentchat/shared/route"
)

// newStack adds one deployment to app: a function and a function URL for each
// family of the route table, their secrets, one CloudFront domain in front, and
// what watches them. It keeps no state: that is S2's.
func newStack(app awscdk.App, c Config) awscdk.Stack {
	name := "agent-chat-" + c.Stage
	stack := awscdk.NewStack(app, &name, &awscdk.StackProps{
		Description: jsii.String("agent-chat: durable messaging between agents, in front of S2"),
		Tags:        &map[string]*string{"app": jsii.String("agent-chat"), "stage": &c.Stage},
	})
	d := &deployment{Config: c, stack: stack}
	d.secrets = d.newSecrets()
	for _, family := range slices.Sorted(maps.Keys(route.Families)) {
		d.functions = append(d.functions, d.newFunction(family, route.Families[family]))
	}
	d.edge = d.newEdge()
	d.watch()
	d.outputs()
	return stack
}

// A deployment is what the parts of a stack need of each other.
type deployment struct {
	Config
	stack     awscdk.Stack
	secrets   map[route.Secret]awssecretsmanager.Secret
	locks     []awssecretsmanager.Secret // of Config.Locks, in their order
	functions []function
	edge      edge
}

// newSecrets makes the secrets. Their values never are in the template: AWS
// makes the tokens, and S2's is put in by the operator, in place of one that S2
// refuses.
func (d *deployment) newSecrets() map[route.Secret]awssecretsmanager.Secret {
	generated := func(id, description string) awssecretsmanager.Secret {
		return awssecretsmanager.NewSecret(d.stack, &id, &awssecretsmanager.SecretProps{
			Description:          &description,
			GenerateSecretString: &awssecretsmanager.SecretStringGenerator{PasswordLength: jsii.Number(43), ExcludePunctuation: jsii.Bool(true)},
		})
	}
	secrets := map[route.Secret]awssecretsmanager.Secret{
		route.APIToken:   generated("ApiToken", "The operator's token, or several separated by commas: acts as any agent"),
		route.AdminToken: generated("AdminToken", "The auditor's token, or several separated by commas: opens the monitor"),
		route.S2Token:    generated("S2Token", "Access token of S2: put yours in; the first value is a random stand-in"),
		route.SigningKeys: awssecretsmanager.NewSecret(d.stack, jsii.String("SigningKeys"), &awssecretsmanager.SecretProps{
			Description: jsii.String("Keys of signed chats, a JWK set with private halves: agent-chat signing-keys makes them"),
			// No key, and so no secret. Another text here would be put over the keys that are there.
			SecretStringValue: awscdk.SecretValue_UnsafePlainText(jsii.String(`{"keys":[]}`)),
		}),
	}
	for _, label := range d.Locks {
		d.locks = append(d.locks, generated("OriginLock-"+label, "What CloudFront sends and the functions demand; nobody else needs it"))
	}
	for _, s := range append(slices.Collect(maps.Values(secrets)), d.locks...) {
		accept(s, "AwsSolutions-SMG4", "a token is rotated by who holds its other end; functions read a new value within five minutes, with no deployment")
	}
	return secrets
}

// outputs says where the service is, and what to do next, in order.
func (d *deployment) outputs() {
	region := *d.stack.Region()
	arn := func(s route.Secret) string { return *d.secrets[s].SecretArn() }
	api := "aws secretsmanager get-secret-value --region " + region + " --query SecretString --output text --secret-id " + arn(route.APIToken)
	on := ""
	for _, v := range []struct{ name, value string }{{"AGENT_CHAT_BASIN", d.Basin}, {"AGENT_CHAT_S2_ENDPOINT", d.S2Endpoint}} {
		if v.value != "" {
			on += v.name + "=" + v.value + " "
		}
	}
	for _, o := range []struct{ id, value, description string }{
		{"Url", d.edge.url, "The service's base URL"},
		{"Step1Init", on + "agent-chat init", "Make the basins: with AGENT_CHAT_S2_TOKEN set to a token that may"},
		{
			"Step2S2Token", "aws secretsmanager put-secret-value --region " + region + " --secret-string file:///dev/stdin --secret-id " + arn(route.S2Token),
			"Give the functions a narrow token of S2 (" + on + "agent-chat init --print-token-scope): run this, type it, and end with Ctrl-D",
		},
		{
			"Step3SigningKeys", "aws secretsmanager get-secret-value --region " + region + " --query SecretString --output text --secret-id " + arn(route.SigningKeys) +
				" | agent-chat signing-keys rotate --file - | aws secretsmanager put-secret-value --region " + region +
				" --secret-string file:///dev/stdin --secret-id " + arn(route.SigningKeys),
			"Make the first key of signed chats",
		},
		{"Step4Token", "export AGENT_CHAT_URL=" + d.edge.url + " AGENT_CHAT_TOKEN=$(" + api + ")", "Be the operator in this shell"},
		{"Step5Check", "agent-chat doctor", "See that all is well"},
	} {
		awscdk.NewCfnOutput(d.stack, &o.id, &awscdk.CfnOutputProps{Value: &o.value, Description: &o.description})
	}
	if d.Domain != "" {
		awscdk.NewCfnOutput(d.stack, jsii.String("DomainTarget"), &awscdk.CfnOutputProps{
			Value: d.edge.distribution.DistributionDomainName(), Description: jsii.String("What " + d.Domain + " must be a CNAME or alias of"),
		})
	}
}

// accept tells cdk-nag why a finding on c or below it stands.
func accept(c constructs.IConstruct, rule, reason string, appliesTo ...string) {
	s := &cdknag.NagPackSuppression{Id: &rule, Reason: &reason}
	if len(appliesTo) > 0 {
		var only []any
		for _, a := range appliesTo {
			only = append(only, a)
		}
		s.AppliesTo = &only
	}
	cdknag.NagSuppressions_AddResourceSuppressions(c, &[]*cdknag.NagPackSuppression{s}, jsii.Bool(true))
}

// arns joins what a NAME_SECRET variable lists.
func arns(secrets []awssecretsmanager.Secret) string {
	var all []string
	for _, s := range secrets {
		all = append(all, *s.SecretArn())
	}
	return strings.Join(all, ",")
}
