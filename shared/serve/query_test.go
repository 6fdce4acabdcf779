package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/api"
	"agentchat/shared/env"
	"agentchat/shared/serve"
)

// contacts returns the family, which keeps what a list and an acceptance asked for.
func contacts(e *env.Env, list *api.ListContactsRequest, accept *api.AcceptContactRequest) http.Handler {
	nothing := func(string) {}
	return serve.Mux(e, "contacts", map[string]serve.Op{
		"contacts.get":     noted[api.ContactPath](nothing, ""),
		"contacts.history": noted[api.ContactHistoryRequest](nothing, ""),
		"contacts.put":     noted[api.PutContactRequest](nothing, ""),
		"contacts.remove":  noted[api.ContactPath](nothing, ""),
		"contacts.share":   noted[api.ShareContactRequest](nothing, ""),
		"contacts.list": serve.Unary(func(_ context.Context, _ caller, q *api.ListContactsRequest) (*api.ListContactsResponse, error) {
			*list = *q
			return &api.ListContactsResponse{}, nil
		}),
		"contacts.accept": serve.Unary(func(_ context.Context, _ caller, q *api.AcceptContactRequest) (*api.SaveContactResponse, error) {
			*accept = *q
			return &api.SaveContactResponse{}, nil
		}),
	})
}

// A map has the parameters whose names begin as its own, whatever follows.
func TestPrefixIsBound(t *testing.T) {
	for query, want := range map[string]map[string]string{
		"limit=5":             nil,
		"label.team=x":        {"team": "x"},
		"label.b=2&label.a=1": {"a": "1", "b": "2"},
		"label.a.b=1&label.label.=2&label.limit=3": {"a.b": "1", "label.": "2", "limit": "3"},
		"label.%C3%A9%3D%26=a+b%2B":                {"é=&": "a b+"},
		"label.Team=x&label.team=y":                {"Team": "x", "team": "y"},
		"label.a=&label.b":                         {"a": "", "b": ""},
	} {
		var got api.ListContactsRequest
		w := do(contacts(newWorld(t, env.Config{}).Env, &got, nil), http.MethodGet, "/v1/agents/alice/contacts?"+query, operator, "")
		if diff := cmp.Diff(want, got.Labels); w.Code != http.StatusOK || diff != "" {
			t.Errorf("?%s: %d %s (-want +got):\n%s", query, w.Code, w.Body, diff)
		}
	}
	for query, parameter := range map[string]string{
		"label=x": "label", "label.=x": "label.", "label%2e=x": "label.", "Label.a=x": "Label.a", "labels.a=x": "labels.a",
		"label.": "label.", "label.a=&label.a": "label.a", "label.a=1&label.a=1": "label.a", "label.%ff=x": "label.\uFFFD", "label.a=%ff": "label.a",
		"label.b=%ff&label.a=%ff": "label.a", "label.a=1&other=2": "other", "label." + strings.Repeat("k", 100) + "=%ff": "label." + strings.Repeat("k", 58) + "...",
	} {
		w := do(contacts(newWorld(t, env.Config{}).Env, nil, nil), http.MethodGet, "/v1/agents/alice/contacts?"+query, operator, "")
		if p := problem(t, w); w.Code != http.StatusBadRequest || p.Code != api.Invalid || p.Parameter != parameter {
			t.Errorf("?%s: %d %s; want 400 invalid, parameter %q", query, w.Code, w.Body, parameter)
		}
	}
}

// A body that may be left out is as {} if it is, and as strict as any if it is not.
func TestEmptyBody(t *testing.T) {
	for body, want := range map[string]int{"": 200, "{}": 200, `{"as":"x"}`: 200, " ": 400, "null": 400, "x": 400, "[]": 400, `{"a":1}`: 400, `{"as":null}`: 400} {
		var got api.AcceptContactRequest
		w := do(contacts(newWorld(t, env.Config{}).Env, nil, &got), http.MethodPost, "/v1/agents/alice/contact-shares/m-1/accept", operator, body)
		if as := string(got.As); w.Code != want || (as == "x") != (body == `{"as":"x"}`) || want == 200 && got.Message != "m-1" {
			t.Errorf("with %q: %d %s, as %q; want %d", body, w.Code, w.Body, as, want)
		}
	}
}
