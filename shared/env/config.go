package env

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
	"agentchat/shared/stream"
)

// The variables; docs/OPERATIONS.md says what each means.
const (
	APIToken     = "AGENT_CHAT_API_TOKEN"
	AdminToken   = "AGENT_CHAT_ADMIN_TOKEN"
	Data         = "AGENT_CHAT_DATA"
	S2Token      = "AGENT_CHAT_S2_TOKEN"
	S2Endpoint   = "AGENT_CHAT_S2_ENDPOINT"
	Basin        = "AGENT_CHAT_BASIN"
	Retention    = "AGENT_CHAT_RETENTION"
	StreamMaxAge = "AGENT_CHAT_STREAM_MAX_AGE"
	CORSOrigins  = "AGENT_CHAT_CORS_ORIGINS"
	Version      = "AGENT_CHAT_VERSION"
	OriginLock   = "AGENT_CHAT_ORIGIN_LOCK" // of a Lambda function: see lambdahost
	SigningKeys  = "AGENT_CHAT_SIGNING_KEYS"
	AgentKeys    = "AGENT_CHAT_CHATS_AGENT_KEYS"
	ChatGrants   = "AGENT_CHAT_CHAT_GRANTS"
	PIIPolicy    = "AGENT_CHAT_PII_POLICY"
	URL          = "AGENT_CHAT_URL"
	Token        = "AGENT_CHAT_TOKEN"
	Agent        = "AGENT_CHAT_AGENT"
)

const (
	defaultBasin    = "agent-chat"
	minRetention    = 8 * 24 * time.Hour // a repeated id is recognised for 7 days, by its record
	minStreamMaxAge = 10 * time.Second   // less and a follower does nothing but reconnect
)

// Config is what variables say.
type Config struct {
	APITokens    []string
	AdminTokens  []string
	S2Token      string
	S2Endpoint   string        // "": s2.dev
	Basin        string        // default "agent-chat"
	Data         string        // the embedded store's folder
	Retention    time.Duration // of inboxes; 0: for ever
	StreamMaxAge time.Duration // 0: no bound
	Origins      []string      // CORS
	Version      string        // default: what the binary was built from
	SigningKeys  *signed.Set   // of signed chats; nil: none
	AgentKeys    bool          // what is written to signed chats takes an agent key, not the API token
	ChatGrants   bool          // what a chat's creator sends waits for the peer's permission
	PIIPolicy    api.PIIPolicy // of signed chats; "": off
}

// Read reads the server's variables; unset and empty are the same. It opens
// nothing, and leaves it to the host which of them are needed. An error names
// the variable, and repeats no token.
func Read(getenv func(string) string) (Config, error) {
	r := reader{getenv: getenv}
	c := Config{
		APITokens:    read(&r, APIToken, auth.ParseTokens),
		AdminTokens:  read(&r, AdminToken, auth.ParseTokens),
		S2Token:      read(&r, S2Token, secret),
		S2Endpoint:   read(&r, S2Endpoint, endpoint),
		Basin:        read(&r, Basin, basin),
		Data:         getenv(Data),
		Retention:    read(&r, Retention, atLeast(minRetention)),
		StreamMaxAge: read(&r, StreamMaxAge, atLeast(minStreamMaxAge)),
		Origins:      read(&r, CORSOrigins, origins),
		Version:      read(&r, Version, version),
		SigningKeys:  read(&r, SigningKeys, keys),
		AgentKeys:    read(&r, AgentKeys, requiredOr("")),
		ChatGrants:   read(&r, ChatGrants, requiredOr("open")),
		PIIPolicy:    read(&r, PIIPolicy, policy),
	}
	if c.Basin == "" {
		c.Basin = defaultBasin
	}
	return c, r.err
}

// A ClientConfig is what the command line's variables say; "" where one is unset.
type ClientConfig struct {
	URL   string
	Token string
	Agent ident.Agent
}

// Client reads the command line's variables.
func Client(getenv func(string) string) (ClientConfig, error) {
	r := reader{getenv: getenv}
	c := ClientConfig{URL: read(&r, URL, endpoint), Token: read(&r, Token, secret), Agent: read(&r, Agent, ident.ParseAgent)}
	return c, r.err
}

// Auditor reads the token of the command line's auditor: the first of the admin
// tokens, "" if there is none.
func Auditor(getenv func(string) string) (string, error) {
	r := reader{getenv: getenv}
	tokens := read(&r, AdminToken, auth.ParseTokens)
	if len(tokens) == 0 {
		return "", r.err
	}
	return tokens[0], r.err
}

// A reader keeps the first error.
type reader struct {
	getenv func(string) string
	err    error
}

func read[T any](r *reader, name string, parse func(string) (T, error)) (v T) {
	s := r.getenv(name)
	if s == "" || r.err != nil {
		return v
	}
	v, err := parse(s)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
	return v
}

// secret takes a foreign credential: of any shape, but one that is there and
// can stand in a header.
func secret(s string) (string, error) {
	if t := strings.TrimSpace(s); t != "" && strings.IndexFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return t, nil
	}
	return "", fmt.Errorf("blank, or not one word of ASCII")
}

func endpoint(s string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(s, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("not an http or https URL without user, query and fragment, as https://chat.example.net")
	}
	return u.String(), nil
}

func version(s string) (string, error) {
	if len(s) > 64 || strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return "", errors.New("not one word of ASCII, 64 characters at most")
	}
	return s, nil
}

func keys(s string) (*signed.Set, error) { return signed.ParseSet([]byte(s)) }

// requiredOr takes "required", and what else there is to say.
func requiredOr(other string) func(string) (bool, error) {
	return func(s string) (bool, error) {
		switch {
		case s == "required":
			return true, nil
		case s == other:
			return false, nil
		case other == "":
			return false, errors.New("not required, which is all there is to say; leave it out otherwise")
		}
		return false, fmt.Errorf("neither required nor %s", other)
	}
}

func policy(s string) (api.PIIPolicy, error) {
	if p := api.PIIPolicy(s); slices.Contains(api.PIIPolicies(), p) {
		return p, nil
	}
	return "", fmt.Errorf("neither %s, %s nor %s", api.PIIOff, api.PIIRedact, api.PIIReject)
}

func basin(s string) (string, error) { return s, stream.CheckBasins(s) }

func atLeast(least time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration as 720h or 5m", s)
		}
		if d < least {
			return 0, fmt.Errorf("%v is less than %v", d, least)
		}
		return d, nil
	}
}

func origins(s string) ([]string, error) {
	var all []string
	for o := range strings.SplitSeq(s, ",") {
		if o = strings.TrimSpace(o); o != "*" && !isOrigin(o) {
			return nil, fmt.Errorf("%q is not an origin as browsers send it, as https://app.example.org: in lower case and ASCII, "+
				"without a usual port, a slash at its end or *", o)
		}
		all = append(all, o)
	}
	return all, nil
}

// isOrigin reports whether a browser may send o. Origins are compared as text, so
// that any other form would let nobody in and say nothing.
func isOrigin(o string) bool {
	u, err := url.Parse(o)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.Scheme+"://"+u.Host != o {
		return false
	}
	usual := u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80"
	other := func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) || r == '*' }
	return !usual && !strings.HasSuffix(o, ":") && !strings.ContainsFunc(o, other)
}
