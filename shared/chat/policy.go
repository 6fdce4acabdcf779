package chat

import (
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/pii"
)

// Stricter returns the stricter of two policies; "" is none.
func Stricter(p, q api.PIIPolicy) api.PIIPolicy {
	if strictness(q) > strictness(p) {
		return q
	}
	return p
}

func strictness(p api.PIIPolicy) int {
	for i, q := range api.PIIPolicies() {
		if p == q {
			return i + 1
		}
	}
	return 0
}

// Filter returns what a policy leaves of a content, and what it replaced; or the
// refusal, which names kinds of personal data and no value.
func Filter(p api.PIIPolicy, content string) (string, []api.Redaction, error) {
	switch p {
	case api.PIIRedact:
		left, counts := pii.Redact(content)
		var all []api.Redaction
		for _, c := range counts {
			all = append(all, api.Redaction{Type: c.Type, Count: c.N})
		}
		return left, all, nil
	case api.PIIReject:
		var types []string
		for _, c := range pii.Counts(pii.Find(content)) {
			types = append(types, c.Type)
		}
		if len(types) > 0 {
			e := api.Errorf(api.PIIRejected, "the content has personal data, which the policy does not let through: %s", strings.Join(types, ", "))
			e.Types = types
			return "", nil, e
		}
	case api.PIIOff:
	}
	return content, nil, nil
}
