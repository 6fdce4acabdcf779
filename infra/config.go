package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentchat/shared/route"
)

// settings are the context keys that the app reads, with what each means.
var settings = map[string]string{
	"stage":        "name of this deployment, in the stack's name; default dev",
	"basin":        "S2 basin, with a suffix of your own since names are global; -ops is added for the second one",
	"s2Endpoint":   "URL of a self-hosted S2; default s2.dev",
	"retention":    "how long inboxes keep a message, as 720h, at least 192h; default for ever",
	"streamMaxAge": "longest life of a live stream, 10s to 14m; default 5m",
	"corsOrigins":  "origins of browsers that may call, separated by commas; default none",
	"chatGrants":   "open or required: whether a signed chat waits for the peer's permission; default open",
	"agentKeys":    "required: signed chats are written with agent keys, not with the API token",
	"piiPolicy":    "off, redact or reject: what is done with personal data in signed chats; default off",
	"version":      "what /healthz says is running; make synth gives git's",
	"domain":       "domain name of the service; needs certificate",
	"certificate":  "ARN of the domain's ACM certificate in us-east-1",
	"waf":          "ARN of a WAF web ACL for CloudFront, in us-east-1",
	"lock":         "true: function URLs answer CloudFront alone; or a list of labels, newest last, to rotate",
	"alarmsEmail":  "where alarms are sent; default nowhere",
	"logDays":      "how long logs are kept: 1, 3, 5, 7, 14, 30, 60, 90, 180 or 365; default 30",
	"xray":         "true: trace with X-Ray",
	"reserve":      "reserved concurrency, as inbox:200,messages:100; default none; needs accountLimit",
	"accountLimit": "the account's limit of concurrent executions in the region",
	"bootstraps":   "folder with FAMILY/bootstrap; default ../build/lambda/arm64",
}

const (
	unreserved  = 100 // concurrency that Lambda wants left in the account
	minAge      = 10 * time.Second
	maxAge      = 14 * time.Minute // a function lives 15 minutes at most
	afterStream = 30 * time.Second // of a streaming function's time: to start, and to end
)

// Config is one deployment.
type Config struct {
	Stage        string
	Basin        string // "": the server's default
	S2Endpoint   string // "": s2.dev
	Retention    string // "": for ever
	StreamMaxAge time.Duration
	CORSOrigins  string
	ChatGrants   string // "": open
	AgentKeys    string // "": the API token may too
	PIIPolicy    string // "": off
	Version      string // "": none is told
	Domain       string // "": CloudFront's own
	Certificate  string
	WebACL       string
	Locks        []string // labels of the secrets that open the function URLs; none: they are open
	AlarmsEmail  string
	LogDays      int
	XRay         bool
	Reserve      map[string]int // by family; those of other families is unreserved
	Bootstraps   string
}

// usage lists the settings.
func usage() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "  %-13s %s\n", key, settings[key])
	}
	return b.String()
}

// parseConfig reads the settings; unset and empty are the same. An error names
// every setting that is wrong.
func parseConfig(get func(key string) string) (Config, error) {
	r := reader{get: get}
	c := Config{
		Stage:        r.match("stage", "dev", `[a-z][a-z0-9-]{0,19}`),
		Basin:        r.match("basin", "", `[a-z0-9][a-z0-9-]{6,42}[a-z0-9]`),
		S2Endpoint:   r.url("s2Endpoint"),
		Retention:    r.get("retention"),
		StreamMaxAge: r.duration("streamMaxAge", 5*time.Minute, minAge, maxAge),
		CORSOrigins:  r.match("corsOrigins", "", `\*|https?://[a-z0-9.-]+(:[0-9]+)?(,https?://[a-z0-9.-]+(:[0-9]+)?)*`),
		ChatGrants:   r.match("chatGrants", "", `open|required`),
		AgentKeys:    r.match("agentKeys", "", `required`),
		PIIPolicy:    r.match("piiPolicy", "", `off|redact|reject`),
		Version:      r.match("version", "", `[A-Za-z0-9._-]{1,64}`),
		Domain:       r.match("domain", "", `([a-z0-9-]+\.)+[a-z]{2,}`),
		Certificate:  r.match("certificate", "", `arn:aws:acm:us-east-1:[0-9]{12}:certificate/[0-9a-f-]+`),
		WebACL:       r.match("waf", "", `arn:aws:wafv2:us-east-1:[0-9]{12}:global/webacl/[^/]+/[0-9a-f-]+`),
		AlarmsEmail:  r.match("alarmsEmail", "", `[^\s@,]+@[^\s@,]+`),
		LogDays:      r.days("logDays", 30),
		XRay:         r.bool("xray"),
		Bootstraps:   r.get("bootstraps"),
	}
	if c.Retention != "" {
		r.duration("retention", 0, 192*time.Hour, 1<<63-1)
	}
	if (c.Domain == "") != (c.Certificate == "") {
		r.fail("domain", "and certificate go together")
	}
	if c.Bootstraps == "" {
		c.Bootstraps = "../build/lambda/arm64"
	}
	if l := r.match("lock", "", `[a-z0-9]+(,[a-z0-9]+)*`); l != "" && l != "false" {
		c.Locks = strings.Split(l, ",")
	}
	c.Reserve = r.reserve()
	return c, errors.Join(r.errs...)
}

// A reader reads settings, and collects what is wrong with them.
type reader struct {
	get  func(key string) string
	errs []error
}

func (r *reader) fail(key, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s %s", key, fmt.Sprintf(format, args...)))
}

func (r *reader) match(key, unset, pattern string) string {
	s := r.get(key)
	if s == "" {
		return unset
	}
	if !regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(s) {
		r.fail(key, "is %q; it must match %s", s, pattern)
	}
	return s
}

func (r *reader) url(key string) string {
	s := r.get(key)
	if u, err := url.Parse(s); s != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(s, "?#") || strings.HasSuffix(s, "/")) {
		r.fail(key, "is not an https URL without user, query, fragment and slash at its end")
	}
	return s
}

func (r *reader) duration(key string, unset, least, most time.Duration) time.Duration {
	s := r.get(key)
	if s == "" {
		return unset
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < least || d > most || d%time.Second != 0 {
		r.fail(key, "is %q; it must be a duration as 720h or 5m, from %v to %v, of whole seconds", s, least, most)
	}
	return d
}

// days returns one of the retentions that CloudWatch Logs has.
func (r *reader) days(key string, unset int) int {
	s := r.get(key)
	if s == "" {
		return unset
	}
	n, err := strconv.Atoi(s)
	if _, has := retentions[n]; err != nil || !has {
		r.fail(key, "is %q; CloudWatch keeps logs for %v days", s, slices.Sorted(maps.Keys(retentions)))
	}
	return n
}

func (r *reader) bool(key string) bool {
	s := r.get(key)
	if s != "" && s != "true" && s != "false" {
		r.fail(key, "is %q; it must be true or false", s)
	}
	return s == "true"
}

// reserve reads reserved concurrencies. Lambda refuses a deployment that leaves
// less than 100 to the functions without one, in the middle of it: so it is
// checked here.
func (r *reader) reserve() map[string]int {
	s, limit := r.get("reserve"), r.get("accountLimit")
	if s == "" {
		return nil
	}
	account, err := strconv.Atoi(limit)
	if err != nil {
		r.fail("accountLimit", "is %q; reserve needs it: aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions", limit)
		return nil
	}
	all, sum := map[string]int{}, 0
	for part := range strings.SplitSeq(s, ",") {
		family, count, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(count)
		if _, known := route.Families[family]; !known || err != nil || n < 1 || all[family] != 0 {
			r.fail("reserve", "has %q; it must be FAMILY:NUMBER, each family once, of %q", part, slices.Sorted(maps.Keys(route.Families)))
			return nil
		}
		all[family] = n
		sum += n
	}
	if account-sum < unreserved {
		r.fail("reserve", "sums to %d; of the account's %d, %d must stay unreserved (ask for a higher quota, or reserve less)", sum, account, unreserved)
	}
	return all
}

// timeout returns the time of a family's function: with streams, they end first.
func (c Config) timeout(f route.Family) time.Duration {
	if f.Stream {
		return c.StreamMaxAge + afterStream
	}
	return f.Timeout
}
