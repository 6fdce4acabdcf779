package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/route"
)

// matches reports whether CloudFront's path pattern takes a path: * is any
// number of any characters, slashes too; ? is one.
func matches(pattern, path string) bool {
	if pattern == "" {
		return path == ""
	}
	switch pattern[0] {
	case '*':
		for i := 0; i <= len(path); i++ {
			if matches(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	case '?':
		return path != "" && matches(pattern[1:], path[1:])
	}
	return path != "" && path[0] == pattern[0] && matches(pattern[1:], path[1:])
}

// target returns the family whose function CloudFront sends a path to.
func target(bs []behaviour, path string) string {
	for _, b := range bs {
		if matches(b.Pattern, path) {
			return b.Family
		}
	}
	return fallback
}

func TestMatches(t *testing.T) {
	for _, row := range []struct {
		pattern, path string
		want          bool
	}{
		{"/v1/agents/*", "/v1/agents/bob", true},
		{"/v1/agents/*", "/v1/agents/bob/inbox", true},
		{"/v1/agents/*", "/v1/agents/", true},
		{"/v1/agents/*", "/v1/agents", false},
		{"/v1/agents/*/keys", "/v1/agents/bob/keys/keys", true},
		{"/v1/agents/*/keys", "/v1/agents/bob/Keys", false},
		{"/v?/x", "/v1/x", true},
		{"/v?/x", "/v/x", false},
	} {
		if got := matches(row.pattern, row.path); got != row.want {
			t.Errorf("matches(%s, %s) = %v; want %v", row.pattern, row.path, got, row.want)
		}
	}
}

// Every path that net/http's mux would give to a family reaches its function
// through CloudFront, also where an id is a word of the paths.
func TestBehaviours(t *testing.T) {
	for name, table := range map[string][]route.Route{
		"ours": route.Table,
		"a literal beside an id": {
			{Op: "one.get", Path: "/x/{id}/y"},
			{Op: "two.get", Path: "/x/all/y"},
			{Op: "three.get", Path: "/x/{id}"},
			{Op: "four.get", Path: "/x/{id}/{other}/z"},
			{Op: "one.all", Path: "/x/all/{other}/z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bs := behaviours(table)
			mux, families := http.NewServeMux(), map[string]string{}
			words := map[string]bool{"a": true, "msg_1": true}
			for _, r := range table {
				if _, twice := families[r.Path]; !twice {
					mux.Handle(r.Path, http.NotFoundHandler())
				}
				families[r.Path] = r.Family()
				for _, w := range strings.Split(r.Path, "/") {
					if w != "" && w[0] != '{' {
						words[w] = true
					}
				}
			}
			known := 0
			var try func(path string, left int)
			try = func(path string, left int) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if _, route := mux.Handler(r); route != "" {
					known++
					if got, want := target(bs, path), families[route]; got != want {
						t.Errorf("%s goes to %s; want %s, whose %s it is", path, got, want, route)
					}
				}
				if left > 0 {
					for w := range words {
						try(strings.TrimSuffix(path, "/")+"/"+w, left-1)
					}
				}
			}
			try("/", 5)
			if known < 40 {
				t.Errorf("%d paths of %d words are somebody's; want more to look at", known, len(words))
			}
			for _, path := range []string{"/", "/favicon.ico", "/v2/agents", "/v1"} {
				if got := target(bs, path); got != fallback {
					t.Errorf("%s goes to %s; want %s", path, got, fallback)
				}
			}
		})
	}
	if _, ok := route.Families[fallback]; !ok {
		t.Errorf("the family %s is not in the table", fallback)
	}
}

// The distribution has our behaviours in our order, waits longer than streams
// are silent, keeps no error, and sends the newest lock.
func TestEdge(t *testing.T) {
	both(t, func(t *testing.T, c Config, d deployed) {
		edges := d.template.of("AWS::CloudFront::Distribution")
		if len(edges) != 1 {
			t.Fatalf("%d distributions; want one", len(edges))
		}
		dist := at(edges[0].properties, "DistributionConfig")

		urls := map[string]string{} // family of a function URL, by its resource
		for _, u := range d.template.of("AWS::Lambda::Url") {
			urls[u.id] = u.family(t)
		}
		families := map[string]string{} // by the origin's id
		for _, o := range list(at(dist, "Origins")) {
			// {"Fn::Select": [2, {"Fn::Split": ["/", {"Fn::GetAtt": [url, "FunctionUrl"]}]}]}
			split := list(at(list(at(o, "DomainName", "Fn::Select"))[1], "Fn::Split"))[1]
			family := urls[list(at(split, "Fn::GetAtt"))[0].(string)]
			families[at(o, "Id").(string)] = family
			if got := at(o, "CustomOriginConfig", "OriginReadTimeout").(float64); got < 2*api.HeartbeatSeconds || got > 60 {
				t.Errorf("%s: CloudFront waits %v s; want two heartbeats of %d s, and 60 s at most", family, got, api.HeartbeatSeconds)
			}
			if f := route.Families[family]; !f.Stream && f.Timeout.Seconds() > readTimeout {
				t.Errorf("%s: may take %v; CloudFront waits %d s", family, f.Timeout, readTimeout)
			}
			headers := at(o, "OriginCustomHeaders")
			if len(c.Locks) == 0 {
				if headers != nil {
					t.Errorf("%s: CloudFront sends %v; nothing is locked", family, headers)
				}
				continue
			}
			header := list(headers)[0]
			if got := at(header, "HeaderName"); got != route.LockHeader {
				t.Errorf("%s: CloudFront sends %v; want %s", family, got, route.LockHeader)
			}
			value := list(list(at(header, "HeaderValue", "Fn::Join"))[1])
			newest := "OriginLock" + c.Locks[len(c.Locks)-1]
			if len(value) != 3 || value[0] != "{{resolve:secretsmanager:" || !strings.HasPrefix(at(value[1], "Ref").(string), newest) {
				t.Errorf("%s: the lock is %v; want a reference to the secret %s", family, value, newest)
			}
		}
		if len(families) != len(route.Families) {
			t.Errorf("origins are of %v; want every family", families)
		}

		var got []behaviour
		for _, b := range list(at(dist, "CacheBehaviors")) {
			got = append(got, behaviour{at(b, "PathPattern").(string), families[at(b, "TargetOriginId").(string)], freshOf(d.template, at(b, "CachePolicyId"))})
		}
		if want := behaviours(route.Table); !slices.Equal(got, want) {
			t.Errorf("behaviours are %v; want %v", got, want)
		}
		if got := families[at(dist, "DefaultCacheBehavior", "TargetOriginId").(string)]; got != fallback {
			t.Errorf("what nothing matches goes to %s; want %s", got, fallback)
		}
		for _, b := range append(list(at(dist, "CacheBehaviors")), at(dist, "DefaultCacheBehavior")) {
			if methods := list(at(b, "AllowedMethods")); len(methods) != 7 {
				t.Errorf("%v lets %v through; want all methods", at(b, "PathPattern"), methods)
			}
		}
		kept := list(at(dist, "CustomErrorResponses"))
		if len(kept) != len(keptErrors) {
			t.Errorf("%d statuses are said not to be kept; want %d", len(kept), len(keptErrors))
		}
		if got, want := at(dist, "WebACLId"), c.WebACL; want != "" && got != want {
			t.Errorf("web ACL %v; want %v", got, want)
		}
		if aliases := at(dist, "Aliases"); (aliases != nil) != (c.Domain != "") || c.Domain != "" && list(aliases)[0] != c.Domain {
			t.Errorf("aliases %v; want %q", aliases, c.Domain)
		}
	})
}

// freshOf returns for how long a behaviour keeps what the function lets it keep.
func freshOf(tpl template, policy any) int {
	ref, own := policy.(map[string]any)
	for _, p := range tpl.of("AWS::CloudFront::CachePolicy") {
		if own && ref["Ref"] == p.id {
			return int(at(p.properties, "CachePolicyConfig", "MaxTTL").(float64))
		}
	}
	return 0 // AWS's own policy, which keeps nothing
}
