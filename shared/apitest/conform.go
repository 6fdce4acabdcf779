package apitest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// conforms returns how a breaks what holds for every answer. It may be called
// concurrently.
func (s *script) conforms(r *http.Request, a *answer) error {
	if _, err := ident.ParseRequest(a.header.Get("X-Request-Id")); err != nil {
		return fmt.Errorf("X-Request-Id: %w", err)
	}
	if !strings.HasSuffix(r.URL.Opaque, "/keys") {
		if err := s.leak("the answer", fmt.Sprint(a.header, string(a.body))); err != nil {
			return err
		}
	}
	if a.status >= http.StatusBadRequest {
		return failed(r, a)
	}
	if a.status == http.StatusNoContent || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		if len(a.body) > 0 {
			return errors.New("a body where there is none")
		}
		return nil
	}
	return isJSON(a, "application/json")
}

func isJSON(a *answer, want string) error {
	if got, _, err := mime.ParseMediaType(a.header.Get("Content-Type")); err != nil || got != want {
		return fmt.Errorf("Content-Type %q; want %s", a.header.Get("Content-Type"), want)
	}
	if !jsontext.Value(a.body).IsValid() {
		return errors.New("the body is not JSON")
	}
	return nil
}

// failed returns what is wrong with how a tells of a failure.
func failed(r *http.Request, a *answer) error {
	if (a.header.Get("Www-Authenticate") != "") != (a.status == http.StatusUnauthorized) {
		return errors.New("a WWW-Authenticate header belongs to 401, and it alone")
	}
	if (a.header.Get("Allow") != "") != (a.status == http.StatusMethodNotAllowed) {
		return errors.New("an Allow header belongs to 405, and it alone")
	}
	if r.Method == http.MethodHead {
		if len(a.body) > 0 {
			return errors.New("a body of an answer to HEAD")
		}
		return nil
	}
	p, err := a.problem()
	if err != nil {
		return err
	}
	t := p.Trait()
	if (a.header.Get("Retry-After") != "") != t.Retry {
		return fmt.Errorf("Retry-After %q with code %s", a.header.Get("Retry-After"), p.Code)
	}
	if a.header.Get("X-Request-Id") != string(p.RequestID) {
		return fmt.Errorf("request_id %q; X-Request-Id is %q", p.RequestID, a.header.Get("X-Request-Id"))
	}
	if p.Status != a.status {
		return fmt.Errorf("status %d in an answer of %d", p.Status, a.status)
	}
	return nil
}

// problem returns the problem document that a is, checked against its code.
func (a *answer) problem() (api.Problem, error) {
	if err := isJSON(a, "application/problem+json"); err != nil {
		return api.Problem{}, err
	}
	return parseProblem(a.body)
}

func parseProblem(doc []byte) (api.Problem, error) {
	var p api.Problem
	if err := json.Unmarshal(doc, &p, json.RejectUnknownMembers(true)); err != nil {
		return p, fmt.Errorf("problem document: %w", err)
	}
	t := p.Trait()
	switch {
	case !slices.Contains(api.Codes(), p.Code):
		return p, fmt.Errorf("unknown code %q", p.Code)
	case p.Type != "about:blank" || p.Title != t.Title || p.Status != t.Status || p.Detail == "":
		return p, fmt.Errorf("type %q, title %q, status %d, detail %q with code %s", p.Type, p.Title, p.Status, p.Detail, p.Code)
	case (p.Outcome == "unknown") != t.Unknown || (p.Retry == "same id only") != p.Repeatable() ||
		(p.Retry == "inspect") != (t.Unknown && !p.Repeatable()):
		return p, fmt.Errorf("outcome %q, retry %q with code %s", p.Outcome, p.Retry, p.Code)
	}
	return p, nil
}
