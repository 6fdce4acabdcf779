// Package s2stream is the production backend of stream.Store: S2 itself, or
// anything that speaks its API, through the Go SDK.
//
// The SDK repeats nothing here. What is repeated is decided in this package: a
// failure is either definite (S2 refused, or no byte of the request was sent) or
// it is not, and a write is sent again only after a definite one.
package s2stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

// Options are what a Store is opened with. Token and Basin are needed.
type Options struct {
	Token    string // the access token
	Endpoint string // of a self-hosted S2, such as "http://127.0.0.1:8080"; empty: s2.dev
	Basin    string // the main basin; the other one is called the same with "-ops" behind

	Timeout time.Duration // bounds every call; 0: 5 s
	Outage  time.Duration // how long Follow and Watch bridge a store that is away; 0: 30 s
	Sweep   time.Duration // the shortest pause between two sweeps of a Watch; 0: 250 ms
	Within  time.Duration // how late a Watch may tell of what others write, as long as S2 answers fast enough; 0: 5 s

	Now     func() time.Time // this machine's clock, which S2's is compared with; nil: time.Now
	MaxSkew time.Duration    // how far apart the two may be before the log is warned; 0: it never is
	Log     *slog.Logger     // nil: slog.Default
}

const (
	defaultTimeout = 5 * time.Second
	defaultOutage  = 30 * time.Second
	defaultSweep   = 250 * time.Millisecond
	defaultWithin  = 5 * time.Second

	sweepWidth = 64             // tails asked for at a time
	idleConns  = 2 * sweepWidth // kept open, so that a sweep leaves the connections of the appends alone
)

// A Store is a stream.Store on S2. It may be used concurrently. One a process
// is enough: all calls share its connections, all watchers of a prefix its sweep.
type Store struct {
	o      Options
	client *s2.Client
	http   *http.Client
	clock  *clock

	mu     sync.Mutex
	sweeps map[stream.Prefix]*sweep // of the prefixes that are watched
}

var _ stream.Store = (*Store)(nil)

// New returns a store. It connects to nothing; Check does.
func New(o Options) (*Store, error) {
	if strings.TrimSpace(o.Token) == "" {
		return nil, errors.New("s2stream: a token is needed")
	}
	if err := stream.CheckBasins(o.Basin); err != nil {
		return nil, fmt.Errorf("s2stream: %w", err)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Outage == 0 {
		o.Outage = defaultOutage
	}
	if o.Sweep == 0 {
		o.Sweep = defaultSweep
	}
	if o.Within == 0 {
		o.Within = defaultWithin
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	clock := &clock{now: o.Now, most: o.MaxSkew, log: o.Log}
	client := &http.Client{
		// A redirect would carry a write somewhere else, and could repeat it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// No Timeout: each call brings a context that ends.
		Transport: genuine{clock: clock, Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: min(o.Timeout, 3*time.Second)}).DialContext,
			MaxIdleConns:        2 * idleConns,
			MaxIdleConnsPerHost: idleConns,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		}},
	}
	options := &s2.ClientOptions{
		HTTPClient:     client,
		RequestTimeout: o.Timeout,
		RetryConfig:    &s2.RetryConfig{MaxAttempts: 1, AppendRetryPolicy: s2.AppendRetryPolicyNoSideEffects},
	}
	if o.Endpoint != "" {
		endpoint, err := parseEndpoint(o.Endpoint)
		if err != nil {
			return nil, err
		}
		options.BaseURL = endpoint
		options.MakeBasinBaseURL = func(string) string { return endpoint }
	}
	return &Store{o: o, client: s2.New(o.Token, options), http: client, clock: clock, sweeps: map[stream.Prefix]*sweep{}}, nil
}

// parseEndpoint checks what the SDK would panic on, and takes away the trailing
// slash that it would take for a path of its own.
func parseEndpoint(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("s2stream: %q is not the URL of an S2 endpoint", endpoint)
	}
	return strings.TrimRight(endpoint, "/"), nil
}

// Close drops idle connections. What is under way goes on.
func (s *Store) Close() { s.http.CloseIdleConnections() }

func (s *Store) basin(b stream.Basin) s2.BasinName {
	return s2.BasinName(s.o.Basin + b.Suffix())
}

func (s *Store) streams(b stream.Basin) *s2.StreamsClient {
	return s.client.Basin(string(s.basin(b))).Streams
}

func (s *Store) stream(name stream.Name) *s2.StreamClient {
	return s.client.Basin(string(s.basin(name.Basin()))).Stream(s2.StreamName(name.String()))
}

// Append implements stream.Store. It is one request and one answer: a session
// would send again what it got no answer to.
func (s *Store) Append(ctx context.Context, name stream.Name, in stream.Batch) (stream.Ack, error) {
	if err := in.Validate(); err != nil {
		return stream.Ack{}, err
	}
	input := &s2.AppendInput{Records: make([]s2.AppendRecord, len(in.Records)), MatchSeqNum: in.At, FencingToken: in.Token}
	for i, r := range in.Records {
		headers := make([]s2.Header, len(r.Headers))
		for j, h := range r.Headers {
			headers[j] = s2.NewHeader(h.Name, h.Value)
		}
		input.Records[i] = s2.AppendRecord{Headers: headers, Body: r.Body}
	}
	began := s.o.Now()
	ack, err := call(ctx, s, writes, "append to "+name.String(), func(ctx context.Context) (*s2.AppendAck, error) {
		return s.stream(name).Append(ctx, input)
	})
	if err != nil {
		return stream.Ack{}, err
	}
	first, next := ack.Start.SeqNum, ack.End.SeqNum
	if next-first != uint64(len(in.Records)) || in.At != nil && first != *in.At {
		return stream.Ack{}, fmt.Errorf("%w: append to %s: an ack of [%d,%d) for %d records", stream.ErrUnknown, name, first, next, len(in.Records))
	}
	s.clock.acknowledged(ctx, stream.Timestamp(ack.End.Timestamp), began)
	s.moved(stream.Moved{Name: name, Tail: next})
	return stream.Ack{First: first, Next: next, Timestamp: stream.Timestamp(ack.End.Timestamp)}, nil
}

// Tail implements stream.Store.
func (s *Store) Tail(ctx context.Context, name stream.Name) (stream.Position, error) {
	r, err := call(ctx, s, reads, "tail of "+name.String(), func(ctx context.Context) (*s2.TailResponse, error) {
		return s.stream(name).CheckTail(ctx)
	})
	if err != nil {
		return stream.Position{}, err
	}
	return stream.Position{Seq: r.Tail.SeqNum, Timestamp: stream.Timestamp(r.Tail.Timestamp)}, nil
}
