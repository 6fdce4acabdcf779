package lambdahost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// Request returns the request that a function URL's event (payload version 2.0)
// stands for, as net/http's server would have made it: the path stays escaped,
// the raw query string decides, a body in base64 is decoded whatever its media
// type, and no header is split at its commas. An event without a raw query
// string may give the parameters one by one, as people do who write events by
// hand.
func Request(ctx context.Context, event json.RawMessage) (*http.Request, error) {
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, errors.New("it is not JSON of that shape")
	}
	if err := check(&e); err != nil {
		return nil, err
	}
	// The accessor decodes the body and checks method and path. It would split headers
	// at commas, add cookies that are a header already, and turn a method into upper
	// case, so it gets none of these to read.
	headers, cookies, method, query := e.Headers, e.Cookies, e.RequestContext.HTTP.Method, e.RawQueryString
	e.Headers, e.Cookies, e.RawQueryString = nil, nil, ""
	if query != "" {
		e.QueryStringParameters = nil
	}
	r, err := new(core.RequestAccessorV2).EventToRequest(e)
	if err != nil {
		return nil, errors.New("its path, method or body can't be read")
	}
	r.Method = method
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.URL.Scheme, r.URL.Host = "", ""
	if query != "" {
		r.URL.RawQuery = query
	}
	r.RequestURI = r.URL.RequestURI()
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	if len(cookies) > 0 && r.Header.Get("Cookie") == "" {
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	if r.Host = r.Header.Get("Host"); r.Host == "" {
		r.Host = e.RequestContext.DomainName
	}
	r.Header.Del("Host")
	r.Header.Del("Content-Length")    // of the body on the wire, not of this one
	r.Header.Del("Transfer-Encoding") // likewise
	r.RemoteAddr = net.JoinHostPort(e.RequestContext.HTTP.SourceIP, "0")
	return r.WithContext(ctx), nil
}

// check refuses what net/http's server would not have let through, or no
// function URL would have sent.
func check(e *events.APIGatewayV2HTTPRequest) error {
	path, query := e.RawPath, e.RawQueryString
	switch {
	case e.Version != "2.0":
		return errors.New("its version is not 2.0")
	case e.RequestContext.HTTP.Method == "":
		return errors.New("it has no requestContext.http.method")
	case !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#"):
		return errors.New("its rawPath is no path")
	case strings.ContainsFunc(path+query, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.Contains(query, " "):
		return errors.New("its rawPath or rawQueryString has control characters or spaces")
	}
	if _, err := url.PathUnescape(path); err != nil {
		return errors.New("its rawPath has a malformed percent-encoding")
	}
	for k, v := range e.Headers {
		if !isToken(k) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("its header %q is none", k)
		}
	}
	return nil
}

// isToken reports whether s can be a header's name (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// placeholder is the request that a refusal answers where there is none.
func placeholder(ctx context.Context) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if err != nil {
		panic(err) // constants
	}
	return r
}
