package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func parse(kv ...string) (Config, error) {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return parseConfig(func(key string) string {
		if _, known := settings[key]; !known {
			panic("parseConfig reads " + key + ", which settings does not explain")
		}
		return m[key]
	})
}

func TestParseConfigDefaults(t *testing.T) {
	got, err := parse()
	want := Config{Stage: "dev", StreamMaxAge: 5 * time.Minute, LogDays: 30, Bootstraps: "../build/lambda/arm64"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseConfig of nothing: %+v, %v; want %+v", got, err, want)
	}
}

func TestParseConfigAll(t *testing.T) {
	got := config(deployments["full"])
	want := Config{
		Stage: "prod", Version: "v1.2.3", Basin: "acme-chat", S2Endpoint: "https://s2.example.org", Retention: "720h", StreamMaxAge: 10 * time.Minute,
		CORSOrigins: "https://app.example.org", ChatGrants: "required", AgentKeys: "required", PIIPolicy: "redact", Domain: "chat.example.org",
		Certificate: "arn:aws:acm:us-east-1:111122223333:certificate/0a1b2c3d-0000-4000-8000-000000000000",
		WebACL:      "arn:aws:wafv2:us-east-1:111122223333:global/webacl/chat/0a1b2c3d-0000-4000-8000-000000000000",
		Locks:       []string{"true", "2"}, AlarmsEmail: "ops@example.org", LogDays: 90, XRay: true,
		Reserve: map[string]int{"inbox": 200, "messages": 100}, Bootstraps: bootstraps,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parseConfig of everything: %+v; want %+v", got, want)
	}
	if c, err := parse("lock", "false", "xray", "false"); err != nil || c.Locks != nil || c.XRay {
		t.Errorf("parseConfig of lock and xray false: %+v, %v; want both off", c, err)
	}
}

// Each bad setting is refused by an error that names it.
func TestParseConfigRefuses(t *testing.T) {
	for _, row := range []struct {
		name     string
		settings []string // KEY, VALUE, ...
		want     string   // the error begins with it
	}{
		{"stage in capitals", []string{"stage", "Prod"}, "stage"},
		{"long stage", []string{"stage", strings.Repeat("a", 21)}, "stage"},
		{"short basin", []string{"basin", "acme"}, "basin"},
		{"long basin", []string{"basin", strings.Repeat("a", 45)}, "basin"},
		{"S2 without TLS", []string{"s2Endpoint", "http://s2.example.org"}, "s2Endpoint"},
		{"S2 with a password", []string{"s2Endpoint", "https://u:p@s2.example.org"}, "s2Endpoint"},
		{"S2 with a slash", []string{"s2Endpoint", "https://s2.example.org/"}, "s2Endpoint"},
		{"S2 with a fragment", []string{"s2Endpoint", "https://s2.example.org#1"}, "s2Endpoint"},
		{"retention below 8 days", []string{"retention", "24h"}, "retention"},
		{"retention without a unit", []string{"retention", "30"}, "retention"},
		{"streams longer than functions", []string{"streamMaxAge", "15m"}, "streamMaxAge"},
		{"streams of parts of a second", []string{"streamMaxAge", "20500ms"}, "streamMaxAge"},
		{"origin without scheme", []string{"corsOrigins", "app.example.org"}, "corsOrigins"},
		{"grants of another word", []string{"chatGrants", "closed"}, "chatGrants"},
		{"agent keys of another word", []string{"agentKeys", "true"}, "agentKeys"},
		{"unknown policy", []string{"piiPolicy", "hide"}, "piiPolicy"},
		{"origin in capitals", []string{"corsOrigins", "https://App.example.org"}, "corsOrigins"},
		{"origin with a query", []string{"corsOrigins", "https://app.example.org,https://b.example.org?x"}, "corsOrigins"},
		{"domain without certificate", []string{"domain", "chat.example.org"}, "domain"},
		{"certificate without domain", []string{"certificate", "arn:aws:acm:us-east-1:111122223333:certificate/0a"}, "domain"},
		{"certificate of another region", []string{"domain", "a.example", "certificate", "arn:aws:acm:eu-west-1:111122223333:certificate/0a"}, "certificate"},
		{"regional web ACL", []string{"waf", "arn:aws:wafv2:eu-west-1:111122223333:regional/webacl/x/0a"}, "waf"},
		{"lock with a blank label", []string{"lock", "1,,2"}, "lock"},
		{"two addresses", []string{"alarmsEmail", "a@example.org,b@example.org"}, "alarmsEmail"},
		{"days that CloudWatch does not have", []string{"logDays", "31"}, "logDays"},
		{"no days", []string{"logDays", "many"}, "logDays"},
		{"xray of another word", []string{"xray", "on"}, "xray"},
		{"reserve without the limit", []string{"reserve", "inbox:10"}, "accountLimit"},
		{"reserve of no family", []string{"reserve", "inboxes:10", "accountLimit", "1000"}, "reserve"},
		{"reserve of nothing", []string{"reserve", "inbox:0", "accountLimit", "1000"}, "reserve"},
		{"reserve twice", []string{"reserve", "inbox:1,inbox:2", "accountLimit", "1000"}, "reserve"},
		{"reserve without a number", []string{"reserve", "inbox", "accountLimit", "1000"}, "reserve"},
		{"a young account", []string{"reserve", "inbox:1", "accountLimit", "10"}, "reserve"},
		{"one too many", []string{"reserve", "inbox:800,messages:101", "accountLimit", "1000"}, "reserve"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := parse(row.settings...); err == nil || !strings.HasPrefix(err.Error(), row.want+" ") {
				t.Errorf("parseConfig(%q): %v; want an error of %s", row.settings, err, row.want)
			}
		})
	}
	if c, err := parse("reserve", "inbox:800,messages:100", "accountLimit", "1000"); err != nil || c.Reserve["inbox"] != 800 {
		t.Errorf("parseConfig of all that can be reserved: %+v, %v; want it", c, err)
	}
}
