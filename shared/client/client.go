// Package client is the Go client of agent-chat: a typed method for every
// operation of the route table, repeats that are safe and no others, and a
// Follow that resumes by itself.
//
//	c, err := client.New(client.Options{URL: "http://127.0.0.1:8080", Token: token})
//	sent, err := c.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ID: client.NewID(rand.Reader)}, Text: &text})
//	for d, err := range c.Follow(ctx, api.InboxRequest{Agent: "bob"}, nil) { ... }
//
// The outcome of a call is told truthfully. Three kinds of errors are to be told
// apart: *Error is an answer of the server; errors.Is(err, ErrUnknown) says that
// a write may have happened; *ConnError is a connection that failed.
package client

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agentchat/shared/ident"
)

// The waits. None bounds a whole request: a long page and a live stream may take
// as long as bytes keep coming.
const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 15 * time.Second // to the status line; the server's own budget for a write is 10 s
	silentTimeout = 45 * time.Second // without a byte of a body: three heartbeats

	maxAnswer  = 32 << 20 // bytes of a JSON answer; a page is at most 4 MiB and one delivery
	maxHeaders = 1 << 20
)

// Options of a Client.
type Options struct {
	URL       string       // of the server: http or https, without user info, query and fragment
	Token     string       // an API token or an agent key; "" sends none
	HTTP      *http.Client // nil: one of its own. Its Timeout is not used: it would end live streams.
	UserAgent string       // "": agent-chat-go
	Tries     int          // attempts of a call that may be repeated; 0: 4, within 30 s
	Trace     func(Trace)  // called after every attempt, from the goroutine of the call; nil: nobody
}

// A Trace is one attempt of a call. It holds no credential.
type Trace struct {
	Op        string
	Method    string
	Target    string // path and query
	Status    int    // 0: no answer
	RequestID string
	Date      time.Time // of the server's clock; zero if it sent none
	Took      time.Duration
	Err       error // a *ConnError if there was no answer
}

// A Client calls one server. Its methods may be called concurrently.
type Client struct {
	base  string
	token string
	agent string
	tries int
	http  *http.Client
	trace func(Trace)
}

// New returns a Client; it does not connect. An error says which option is wrong
// and never holds the token.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.URL)
	if err != nil {
		return nil, err
	}
	for i := range len(o.Token) {
		if o.Token[i] <= ' ' || o.Token[i] > '~' {
			return nil, errors.New("the token has a space, a line end or another byte that no token has")
		}
	}
	c := &Client{base: base, token: o.Token, agent: o.UserAgent, tries: o.Tries, trace: o.Trace, http: &http.Client{Transport: transport()}}
	if o.HTTP != nil {
		own := *o.HTTP
		own.Timeout = 0
		c.http = &own
	}
	// A redirect would carry the token to wherever it points.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.agent == "" {
		c.agent = "agent-chat-go"
	}
	if c.tries <= 0 {
		c.tries = 4
	}
	if c.trace == nil {
		c.trace = func(Trace) {}
	}
	return c, nil
}

// Close lets go of idle connections. Calls that run go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// NewID makes an id for a message: "cli_" and 32 hexadecimal digits. A send that
// carries it can be repeated without harm, by this client and by its caller. It
// is not of the form that servers make ("msg_"): an id of that form tells the
// server that an earlier attempt may have been stored, which costs a search.
func NewID(random io.Reader) ident.Message {
	b := make([]byte, 16)
	if _, err := io.ReadFull(random, b); err != nil {
		panic("client: no randomness: " + err.Error())
	}
	return ident.Message("cli_" + hex.EncodeToString(b))
}

// parseBase checks the server's URL. Its errors do not repeat it: it may hold a secret.
func parseBase(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", errors.New("the server's URL can't be parsed")
	case u.User != nil:
		return "", errors.New("the server's URL must not hold a user or a password")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the server's URL must begin with http:// or https://")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the server's URL must be a host, perhaps with a path, and nothing else")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// A request is one call as it goes over the wire, again and again if need be.
type request struct {
	op     string
	method string
	target string
	header http.Header
	body   []byte
	wait   time.Duration // how long the server may wait before it answers
}

// writes reports whether the call changes anything.
func (r request) writes() bool { return r.method != http.MethodGet }

// open sends r once and returns the answer, whatever its status. The caller
// closes its body. The connection is given up if the status line, or later the
// next byte, is too long in coming. The error is a *ConnError.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	began := time.Now()
	ctx, g := guard(ctx, answerTimeout+r.wait)
	res, err := c.roundTrip(ctx, r)
	t := Trace{Op: r.op, Method: r.method, Target: r.target, Took: time.Since(began)}
	if err != nil {
		err.Err = g.reason(err.Err)
		g.stop()
		t.Err = err
		c.trace(t)
		return nil, err
	}
	t.Status, t.RequestID = res.StatusCode, res.Header.Get("X-Request-Id")
	t.Date, _ = http.ParseTime(res.Header.Get("Date"))
	c.trace(t)
	res.Body = g.over(res.Body)
	return res, nil
}
