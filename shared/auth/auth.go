// Package auth says who calls and what a caller may do. It is the one place that
// compares secrets and the one place that decides.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/route"
)

// Options of an Auth.
type Options struct {
	APITokens   []string // at least one
	AdminTokens []string // none: no request is ever an admin's
	// Registration returns the state of an agent, at most maxAge old.
	Registration func(ctx context.Context, id ident.Agent, maxAge time.Duration) (agent.State, error)
}

// An Auth authenticates. Its methods may be called concurrently.
type Auth struct {
	api, admin   []digest
	registration func(context.Context, ident.Agent, time.Duration) (agent.State, error)
}

// A digest is what is compared in place of a secret: it has the same length for
// every secret, so a comparison tells nothing of the secret's.
type digest = [sha256.Size]byte

// New refuses blank, short or foreign tokens, and one that is both API and admin token.
func New(o Options) (*Auth, error) {
	if len(o.APITokens) == 0 {
		return nil, errors.New("no API token")
	}
	a := &Auth{registration: o.Registration}
	for _, t := range o.APITokens {
		if err := checkToken(t); err != nil {
			return nil, err
		}
		a.api = append(a.api, sha256.Sum256([]byte(t)))
	}
	for _, t := range o.AdminTokens {
		if err := checkToken(t); err != nil {
			return nil, err
		}
		d := sha256.Sum256([]byte(t))
		if among(d, a.api) {
			return nil, errors.New("an admin token is an API token too")
		}
		a.admin = append(a.admin, d)
	}
	return a, nil
}

// Caller returns who h's credentials belong to in a call of r: Anonymous if there
// are none, an *api.Error (401) if they open nothing or disagree. A credential that
// can't be checked because the store is away is 503, never 401.
//
// The credential is read from Authorization: Bearer, and if r.Keys from X-API-Key
// and Api-Key too. Where these identify nobody, one that says something else than
// the bearer token is refused all the same, so that no request means one caller to
// us and another to a proxy.
func (a *Auth) Caller(ctx context.Context, h http.Header, r route.Route) (Caller, error) {
	token, err := credential(h, r.Keys)
	if err != nil || token == "" {
		return Caller{}, err
	}
	d := sha256.Sum256([]byte(token))
	operator, admin := among(d, a.api), among(d, a.admin)
	switch {
	case operator:
		return Caller{Kind: Operator}, nil
	case admin:
		return Caller{Kind: Admin}, nil
	}
	return a.agent(ctx, token, d)
}

// HasAdmin reports whether any credential is an admin's.
func (a *Auth) HasAdmin() bool { return len(a.admin) > 0 }

// credential returns the one that h carries, "" if none.
func credential(h http.Header, keys bool) (string, error) {
	token, err := bearer(h)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"X-Api-Key", "Api-Key"} {
		for _, v := range h[name] {
			switch {
			case v == token:
			case !keys:
				return "", api.Errorf(api.UnknownCredential, "%s is not read by this operation, and differs from Authorization: send one credential, as Authorization: Bearer", name)
			case token != "" || strings.Trim(v, tokenChars) != "":
				return "", api.Errorf(api.UnknownCredential, "send one credential, in one of Authorization: Bearer, X-API-Key and Api-Key, or the same in each")
			default:
				token = v
			}
		}
	}
	return token, nil
}

// bearer returns the token of Authorization: Bearer, "" if there is no such header.
func bearer(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", api.Errorf(api.UnknownCredential, "send one Authorization header")
	}
	// One space exactly, and no second word: what is not wholly the token is no token.
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.Trim(token, tokenChars) != "" {
		return "", api.Errorf(api.UnknownCredential, "send the token as Authorization: Bearer <token>, with one space")
	}
	return token, nil
}

// agent authenticates an agent key. All its refusals are alike, so that nobody
// learns from them which agents and keys there are.
//
// A state that is a little old is believed where it opens, so long a revoked key
// may live; but not where it refuses, as the key may have been minted since, and
// who is refused once does not ask again.
func (a *Auth) agent(ctx context.Context, token string, d digest) (Caller, error) {
	owner, id, ok := parseKey(token)
	if !ok {
		return Caller{}, unknown()
	}
	for _, maxAge := range []time.Duration{agent.MaxAge, 0} {
		st, err := a.registration(ctx, owner, maxAge)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Code.Trait().Status >= http.StatusInternalServerError {
			return Caller{}, e
		} else if ok {
			continue
		}
		if err != nil {
			return Caller{}, api.Errorf(api.Unavailable, "the credential can't be checked, because the store does not answer").Because(err)
		}
		if st.Phase == agent.Registered && holds(st.Keys, d) {
			return Caller{Kind: Agent, Agent: owner, Key: id}, nil
		}
	}
	return Caller{}, unknown()
}

// holds reports whether d is of one of the keys, comparing with each: of the
// whole key, its id too.
func holds(keys []agent.Key, d digest) bool {
	found := 0
	for i := range keys {
		found |= subtle.ConstantTimeCompare(d[:], keys[i].Hash[:])
	}
	return found == 1
}

func unknown() error { return api.Errorf(api.UnknownCredential, "this credential opens nothing here") }

// among reports whether d is one of ds, comparing with each.
func among(d digest, ds []digest) bool {
	found := 0
	for i := range ds {
		found |= subtle.ConstantTimeCompare(d[:], ds[i][:])
	}
	return found == 1
}
