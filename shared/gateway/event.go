package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentchat/shared/route"
)

var (
	errTooLarge   = fmt.Errorf("%w: the request is larger than an event may be", errRefused)
	errHeaders    = fmt.Errorf("%w: the request's headers are larger than allowed", errRefused)
	errUnreadable = fmt.Errorf("%w: the request's body broke off", errRefused)
)

// event is a function URL's event, payload version 2.0, as AWS documents it.
type event struct {
	Version         string            `json:"version"`
	RouteKey        string            `json:"routeKey"`
	RawPath         string            `json:"rawPath"`
	RawQueryString  string            `json:"rawQueryString"`
	Cookies         []string          `json:"cookies,omitempty"`
	Headers         map[string]string `json:"headers"`
	Query           map[string]string `json:"queryStringParameters,omitempty"`
	RequestContext  requestContext    `json:"requestContext"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

type requestContext struct {
	AccountID    string      `json:"accountId"`
	APIID        string      `json:"apiId"`
	DomainName   string      `json:"domainName"`
	DomainPrefix string      `json:"domainPrefix"`
	HTTP         httpContext `json:"http"`
	RequestID    string      `json:"requestId"`
	RouteKey     string      `json:"routeKey"`
	Stage        string      `json:"stage"`
	Time         string      `json:"time"`
	TimeEpoch    int64       `json:"timeEpoch"`
}

type httpContext struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Protocol  string `json:"protocol"`
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

// Event returns the event that AWS would make of r, under the id of its
// invocation: header names in lower case, repeated ones joined by commas, cookies
// apart as well, the body in base64 unless its media type is textual. A body that
// says it is text but is not UTF-8 is in base64, too, as JSON could not hold it.
func Event(r *http.Request, id string) ([]byte, error) {
	size := 0
	headers := map[string]string{"host": r.Host}
	for k, vs := range r.Header {
		name, value := strings.ToLower(k), strings.Join(vs, ",")
		headers[name] = value
		size += len(name) + len(value) + len(": \r\n")
	}
	if size > MaxHeaderBytes {
		return nil, errHeaders
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr) // "" if the host gave none
	now := time.Now().UTC()
	e := event{
		Version: "2.0", RouteKey: "$default", RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery,
		Headers: headers, Query: joinedQuery(r.URL), Body: string(body),
		IsBase64Encoded: len(body) > 0 && (!isText(r.Header.Get("Content-Type")) || !utf8.Valid(body)),
		RequestContext: requestContext{
			AccountID: "anonymous", APIID: "local", DomainName: r.Host, DomainPrefix: "local", RequestID: id,
			RouteKey: "$default", Stage: "$default", Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: httpContext{Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: ip, UserAgent: r.UserAgent()},
		},
	}
	if c := r.Header.Get("Cookie"); c != "" {
		e.Cookies = strings.Split(c, "; ")
	}
	if e.IsBase64Encoded {
		e.Body = base64.StdEncoding.EncodeToString(body)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("make an event: %w", err)
	}
	if len(b) > MaxEvent {
		return nil, errTooLarge
	}
	return b, nil
}

func joinedQuery(u *url.URL) map[string]string {
	m := map[string]string{}
	for k, vs := range u.Query() {
		m[k] = strings.Join(vs, ",")
	}
	return m
}

// isText reports whether AWS passes a body of this media type as it is.
func isText(contentType string) bool {
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasPrefix(t, "text/") || slices.Contains([]string{
		"application/json", "application/xml", "application/javascript",
	}, t))
}

// A pattern is the path of a route and the family that answers it.
type pattern struct {
	segments []string
	family   string
}

func patterns() []pattern {
	var ps []pattern
	for _, r := range route.Table {
		ps = append(ps, pattern{segments: strings.Split(r.Path, "/"), family: r.Family()})
	}
	return ps
}

// familyOf returns the family whose path u has, literal segments before {...}
// ones; "service" for a path that nobody has, which then says so.
func familyOf(ps []pattern, u *url.URL) string {
	segments, best, most := strings.Split(u.EscapedPath(), "/"), "service", -1
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = decoded
		}
	}
	for _, p := range ps {
		if n, ok := p.match(segments); ok && n > most {
			best, most = p.family, n
		}
	}
	return best
}

func (p pattern) match(segments []string) (literals int, ok bool) {
	if len(segments) != len(p.segments) {
		return 0, false
	}
	for i, s := range p.segments {
		switch {
		case strings.HasPrefix(s, "{"):
		case s == segments[i]:
			literals++
		default:
			return 0, false
		}
	}
	return literals, true
}
