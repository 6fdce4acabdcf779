package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

const period = 5 // minutes of an alarm's datapoint

// watch adds the alarms and the dashboard.
func (d *deployment) watch() {
	alarms := d.alarms()
	if d.AlarmsEmail != "" {
		action := awscloudwatchactions.NewSnsAction(d.topic())
		for _, a := range alarms {
			a.AddAlarmAction(action)
			a.AddOkAction(action)
		}
	}
	d.dashboard(alarms)
}

// alarms returns four for each function. No data is no alarm: nobody calls at night.
func (d *deployment) alarms() []awscloudwatch.Alarm {
	var all []awscloudwatch.Alarm
	for _, f := range d.functions {
		timeout := d.timeout(f.needs)
		slow, why := timeout*8/10, "requests take most of the function's time: the store is slow, or away"
		if f.needs.Stream {
			slow, why = d.StreamMaxAge+afterStream/2, "streams do not end by themselves: they run into the function's timeout"
		}
		for _, a := range []struct {
			id, metric, statistic string
			threshold             float64
			why                   string
		}{
			{"Errors", "Errors", "Sum", 1, "the function crashed or ran out of time; its log says where"},
			{"Throttles", "Throttles", "Sum", 1, "requests were turned away for lack of concurrency: the account's limit, or the reserve setting"},
			{"Slow", "Duration", "Maximum", float64(slow.Milliseconds()), why},
			{"Faults", "Url5xxCount", "Sum", 5, "answers of 500 or more; the access log has their codes"},
		} {
			all = append(all, awscloudwatch.NewAlarm(f.scope, &a.id, &awscloudwatch.AlarmProps{
				AlarmDescription:   jsii.String("agent-chat " + d.Stage + ", " + f.family + ": " + a.why + ". See docs/OPERATIONS.md, Alarms."),
				Metric:             f.metric(a.metric, a.statistic),
				Threshold:          &a.threshold,
				ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
				EvaluationPeriods:  jsii.Number(1),
				TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
			}))
		}
	}
	return all
}

// topic returns the one that mails alarms.
func (d *deployment) topic() awssns.Topic {
	topic := awssns.NewTopic(d.stack, jsii.String("Alarms"), &awssns.TopicProps{DisplayName: jsii.String("agent-chat " + d.Stage), EnforceSSL: jsii.Bool(true)})
	topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(&d.AlarmsEmail, nil))
	// The policy that enforces TLS replaces the one under which CloudWatch could publish.
	topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("AlarmsPublish"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)},
		Actions:    jsii.Strings("sns:Publish"),
		Resources:  &[]*string{topic.TopicArn()},
		Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": d.stack.Account()}},
	}))
	return topic
}

// dashboard shows, from the top: what is wrong, how much there is, how long it
// takes, and what limits it.
func (d *deployment) dashboard(alarms []awscloudwatch.Alarm) {
	status := make([]interfacesawscloudwatch.IAlarmRef, len(alarms))
	for i, a := range alarms {
		status[i] = a
	}
	graph := func(title, statistic string, metrics ...string) awscloudwatch.IWidget {
		var left []awscloudwatch.IMetric
		for _, f := range d.functions {
			for _, m := range metrics {
				left = append(left, f.metric(m, statistic).With(&awscloudwatch.MetricOptions{Label: jsii.String(f.family + " " + m)}))
			}
		}
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: &title, Left: &left, Width: jsii.Number(8)})
	}
	edge := func(title, statistic string, metrics ...string) awscloudwatch.IWidget {
		var left []awscloudwatch.IMetric
		for _, m := range metrics {
			left = append(left, awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
				Namespace: jsii.String("AWS/CloudFront"), MetricName: &m, Statistic: &statistic, Region: jsii.String("us-east-1"),
				DimensionsMap: &map[string]*string{"DistributionId": d.edge.distribution.DistributionId(), "Region": jsii.String("Global")},
				Period:        awscdk.Duration_Minutes(jsii.Number(period)),
			}))
		}
		return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: &title, Left: &left, Width: jsii.Number(8), Region: jsii.String("us-east-1")})
	}
	groups := make([]*string, len(d.functions))
	for i, f := range d.functions {
		groups[i] = f.logs.LogGroupName()
	}
	board := awscloudwatch.NewDashboard(d.stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{DashboardName: jsii.String("agent-chat-" + d.Stage)})
	board.AddWidgets(awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{Title: jsii.String("Alarms"), Alarms: &status, Width: jsii.Number(24)}))
	board.AddWidgets(
		graph("Requests", "Sum", "UrlRequestCount"),
		graph("Refused (4xx) and failed (5xx)", "Sum", "Url4xxCount", "Url5xxCount"),
		graph("Crashes and time-outs", "Sum", "Errors"),
	)
	board.AddWidgets(
		graph("Time to answer, median", "p50", "UrlRequestLatency"),
		graph("Time to answer, 99 %", "p99", "UrlRequestLatency"),
		edge("Edge: error rates in %", "Average", "4xxErrorRate", "5xxErrorRate"),
	)
	board.AddWidgets(
		graph("Running at once (a follower is one)", "Maximum", "ConcurrentExecutions"),
		graph("Turned away for lack of concurrency", "Sum", "Throttles"),
		edge("Edge: requests", "Sum", "Requests"),
	)
	board.AddWidgets(awscloudwatch.NewLogQueryWidget(&awscloudwatch.LogQueryWidgetProps{
		Title: jsii.String("Problems by code"), LogGroupNames: &groups, Width: jsii.Number(24),
		QueryLines: jsii.Strings("filter ispresent(code)", "stats count(*) as answers by op, code", "sort answers desc", "limit 30"),
	}))
}

// metric returns a metric of the function, or of its URL.
func (f function) metric(name, statistic string) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String("AWS/Lambda"), MetricName: &name, Statistic: &statistic,
		DimensionsMap: &map[string]*string{"FunctionName": f.fn.FunctionName()},
		Period:        awscdk.Duration_Minutes(jsii.Number(period)),
	})
}
