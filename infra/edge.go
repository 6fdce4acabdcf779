package main

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfront"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfrontorigins"
	"github.com/aws/jsii-runtime-go"

	"agentchat/shared/route"
)

const (
	// readTimeout is how long CloudFront waits for the next byte: longer than a
	// unary function runs and than two heartbeats of a stream are apart. More than
	// 60 seconds needs a quota of its own.
	readTimeout  = 60
	maxBehaviour = 75 // of a distribution, by AWS's default quota
)

// keptErrors are the statuses that CloudFront would keep for ten seconds, for
// whoever asks, even where caching is off.
var keptErrors = []int{400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}

// An edge is the one domain in front of all functions.
type edge struct {
	distribution awscloudfront.Distribution
	url          string
}

// newEdge makes the distribution: it routes by path, and passes everything else
// on as it is: every method, header and query, each byte of a stream as it comes.
func (d *deployment) newEdge() edge {
	origins := map[string]awscloudfront.IOrigin{}
	for _, f := range d.functions {
		props := &awscloudfrontorigins.FunctionUrlOriginProps{
			ReadTimeout:      awscdk.Duration_Seconds(jsii.Number(readTimeout)),
			KeepaliveTimeout: awscdk.Duration_Seconds(jsii.Number(readTimeout)),
		}
		if n := len(d.locks); n > 0 {
			// A reference that CloudFormation resolves: the template has no value.
			lock := d.locks[n-1].SecretValue().UnsafeUnwrap()
			props.CustomHeaders = &map[string]*string{route.LockHeader: lock}
		}
		origins[f.family] = awscloudfrontorigins.NewFunctionUrlOrigin(f.url, props)
	}

	props := &awscloudfront.DistributionProps{
		Comment: jsii.String("agent-chat " + d.Stage),
		DefaultBehavior: &awscloudfront.BehaviorOptions{
			Origin: origins[fallback], AllowedMethods: awscloudfront.AllowedMethods_ALLOW_ALL(),
			CachePolicy: awscloudfront.CachePolicy_CACHING_DISABLED(), OriginRequestPolicy: awscloudfront.OriginRequestPolicy_ALL_VIEWER_EXCEPT_HOST_HEADER(),
			Compress: jsii.Bool(false), ViewerProtocolPolicy: awscloudfront.ViewerProtocolPolicy_HTTPS_ONLY,
		},
		HttpVersion: awscloudfront.HttpVersion_HTTP2_AND_3,
		PriceClass:  awscloudfront.PriceClass_PRICE_CLASS_ALL,
	}
	var kept []*awscloudfront.ErrorResponse
	for _, status := range keptErrors {
		kept = append(kept, &awscloudfront.ErrorResponse{HttpStatus: jsii.Number(float64(status)), Ttl: awscdk.Duration_Seconds(jsii.Number(0))})
	}
	props.ErrorResponses = &kept
	if d.Domain != "" {
		props.DomainNames = jsii.Strings(d.Domain)
		props.Certificate = awscertificatemanager.Certificate_FromCertificateArn(d.stack, jsii.String("Certificate"), &d.Certificate)
		props.MinimumProtocolVersion = awscloudfront.SecurityPolicyProtocol_TLS_V1_2_2021
	}
	if d.WebACL != "" {
		props.WebAclId = &d.WebACL
	}
	dist := awscloudfront.NewDistribution(d.stack, jsii.String("Edge"), props)

	paths := behaviours(route.Table)
	if len(paths) > maxBehaviour {
		panic(fmt.Sprintf("infra: %d path patterns; a distribution has %d at most: group the paths of a family", len(paths), maxBehaviour))
	}
	for _, b := range paths { // one by one: a map of them would lose the order
		options := &awscloudfront.AddBehaviorOptions{
			AllowedMethods: awscloudfront.AllowedMethods_ALLOW_ALL(),
			CachePolicy:    awscloudfront.CachePolicy_CACHING_DISABLED(), OriginRequestPolicy: awscloudfront.OriginRequestPolicy_ALL_VIEWER_EXCEPT_HOST_HEADER(),
			Compress: jsii.Bool(false), ViewerProtocolPolicy: awscloudfront.ViewerProtocolPolicy_HTTPS_ONLY,
		}
		if b.Fresh > 0 {
			options.CachePolicy, options.OriginRequestPolicy = d.keep(b.Fresh), nil
		}
		dist.AddBehavior(&b.Pattern, origins[b.Family], options)
	}

	accept(dist, "AwsSolutions-CFR1", "agents call from everywhere; whom to keep out is a web ACL's matter (setting waf)")
	accept(dist, "AwsSolutions-CFR3", "every function logs each request; logs of CloudFront would need a bucket with its own retention, and say no more")
	if d.WebACL == "" {
		accept(dist, "AwsSolutions-CFR2", "a web ACL is the operator's choice and cost (setting waf); credentials are checked by the handlers")
	}
	if d.Domain == "" {
		accept(dist, "AwsSolutions-CFR4", "CloudFront's own certificate allows no choice of TLS version; with a domain it is 1.2 or later (setting domain)")
		return edge{dist, "https://" + *dist.DistributionDomainName()}
	}
	return edge{dist, "https://" + d.Domain}
}

// keep returns the cache policy of what anybody may keep: as long as the function
// says, fresh seconds at most. The function sees what is in the key and no more,
// so that no two callers are answered differently but by their origin.
func (d *deployment) keep(fresh int) awscloudfront.ICachePolicy {
	seconds := func(n int) awscdk.Duration { return awscdk.Duration_Seconds(jsii.Number(float64(n))) }
	return awscloudfront.NewCachePolicy(d.stack, jsii.String(fmt.Sprintf("Fresh%d", fresh)), &awscloudfront.CachePolicyProps{
		CachePolicyName: jsii.String(fmt.Sprintf("agent-chat-%s-fresh-%d", d.Stage, fresh)),
		Comment:         jsii.String("agent-chat " + d.Stage + ": what is public"),
		MinTtl:          seconds(0), DefaultTtl: seconds(0), MaxTtl: seconds(fresh),
		HeaderBehavior:      awscloudfront.CacheHeaderBehavior_AllowList(jsii.String("Origin")),
		QueryStringBehavior: awscloudfront.CacheQueryStringBehavior_None(), CookieBehavior: awscloudfront.CacheCookieBehavior_None(),
	})
}
