package main

import (
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"agentchat/shared/route"
)

// A function is a family on Lambda.
type function struct {
	family string
	needs  route.Family
	scope  constructs.Construct // of all that is the function's
	fn     awslambda.Function
	url    awslambda.FunctionUrl
	logs   awslogs.LogGroup
}

// retentions are those that CloudWatch Logs has, by days.
var retentions = map[int]awslogs.RetentionDays{
	1: awslogs.RetentionDays_ONE_DAY, 3: awslogs.RetentionDays_THREE_DAYS, 5: awslogs.RetentionDays_FIVE_DAYS, 7: awslogs.RetentionDays_ONE_WEEK,
	14: awslogs.RetentionDays_TWO_WEEKS, 30: awslogs.RetentionDays_ONE_MONTH, 60: awslogs.RetentionDays_TWO_MONTHS,
	90: awslogs.RetentionDays_THREE_MONTHS, 180: awslogs.RetentionDays_SIX_MONTHS, 365: awslogs.RetentionDays_ONE_YEAR,
}

// newFunction makes a family's function, with a role that may write its own log
// and read its own secrets, and nothing else.
func (d *deployment) newFunction(family string, needs route.Family) function {
	scope := constructs.NewConstruct(d.stack, &family)
	logs := awslogs.NewLogGroup(scope, jsii.String("Logs"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String("/agent-chat/" + d.Stage + "/" + family),
		Retention:     retentions[d.LogDays],
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description: jsii.String("agent-chat " + d.Stage + ": the function of " + family),
	})
	logs.GrantWrite(role)
	environment, readable := d.environment(needs)
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("ReadItsSecrets"), Actions: jsii.Strings("secretsmanager:GetSecretValue"), Resources: &readable,
	}))

	props := &awslambda.FunctionProps{
		Description:           jsii.String("agent-chat " + d.Stage + ": " + family),
		Code:                  awslambda.Code_FromAsset(jsii.String(filepath.Join(d.Bootstraps, family)), nil),
		Handler:               jsii.String("bootstrap"),
		Runtime:               awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:          awslambda.Architecture_ARM_64(),
		MemorySize:            jsii.Number(float64(needs.Memory)),
		Timeout:               awscdk.Duration_Seconds(jsii.Number(d.timeout(needs).Seconds())),
		Environment:           &environment,
		Role:                  role,
		LogGroup:              logs,
		LoggingFormat:         awslambda.LoggingFormat_JSON,
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		SystemLogLevelV2:      awslambda.SystemLogLevel_WARN, // our access log has a line for each request already
	}
	if n, ok := d.Reserve[family]; ok {
		props.ReservedConcurrentExecutions = jsii.Number(float64(n))
	}
	if d.XRay {
		props.Tracing = awslambda.Tracing_ACTIVE
		accept(role, "AwsSolutions-IAM5", "X-Ray's two actions have no resources to name", "Resource::*")
	}
	fn := awslambda.NewFunction(scope, jsii.String("Function"), props)

	// Anybody may call the URL: the handler checks credentials of ours. With this
	// type the CDK grants both permissions that AWS wants since October 2025.
	mode := awslambda.InvokeMode_BUFFERED
	if needs.Stream {
		mode = awslambda.InvokeMode_RESPONSE_STREAM
	}
	url := fn.AddFunctionUrl(&awslambda.FunctionUrlOptions{AuthType: awslambda.FunctionUrlAuthType_NONE, InvokeMode: mode})
	return function{family: family, needs: needs, scope: scope, fn: fn, url: url, logs: logs}
}

// environment returns the variables of a function, which hold where its secrets
// are and never what they are, and the ARNs that it may read.
func (d *deployment) environment(needs route.Family) (environment map[string]*string, readable []*string) {
	environment = map[string]*string{"AGENT_CHAT_INVOKE_MODE": jsii.String("BUFFERED")}
	if needs.Stream {
		environment["AGENT_CHAT_INVOKE_MODE"] = jsii.String("RESPONSE_STREAM")
		environment["AGENT_CHAT_STREAM_MAX_AGE"] = jsii.String(d.StreamMaxAge.String())
	}
	for name, value := range map[string]string{
		"AGENT_CHAT_BASIN":        d.Basin,
		"AGENT_CHAT_S2_ENDPOINT":  d.S2Endpoint,
		"AGENT_CHAT_RETENTION":    d.Retention,
		"AGENT_CHAT_CORS_ORIGINS": d.CORSOrigins,
		"AGENT_CHAT_VERSION":      d.Version,
	} {
		if value != "" {
			environment[name] = &value
		}
	}
	if slices.Contains(needs.Secrets, route.SigningKeys) {
		for name, value := range map[string]string{
			"AGENT_CHAT_CHAT_GRANTS": d.ChatGrants, "AGENT_CHAT_CHATS_AGENT_KEYS": d.AgentKeys, "AGENT_CHAT_PII_POLICY": d.PIIPolicy,
		} {
			if value != "" {
				environment[name] = &value
			}
		}
	}
	give := func(name route.Secret, secrets ...awssecretsmanager.Secret) {
		environment[string(name)+"_SECRET"] = jsii.String(arns(secrets))
		for _, s := range secrets {
			readable = append(readable, s.SecretArn())
		}
	}
	for _, s := range needs.Secrets {
		give(s, d.secrets[s])
	}
	if len(d.locks) > 0 {
		give(route.OriginLock, d.locks...)
	}
	return environment, readable
}
