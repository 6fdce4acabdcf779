package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"github.com/s2-streamstore/s2-sdk-go/s2"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("WIRE_TEST_SERVE"); dir != "" {
		os.Exit(serveForKill(dir))
	}
	os.Exit(m.Run())
}

const (
	token = "test-token"
	basin = "wire-tests"
)

// A host is a server on a loopback port.
type host struct {
	t      testing.TB
	addr   string
	engine *engine.Engine
	stop   func() // ends the server and waits for its end
}

// startHost serves e on addr, which may end in port 0, until the test ends.
func startHost(t testing.TB, e *engine.Engine, addr string) *host {
	t.Helper()
	return startHostFor(t, e, addr, token)
}

func startHostFor(t testing.TB, e *engine.Engine, addr, token string) *host {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wire.New(e, wire.Options{Token: token, Log: quiet()}).Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: err = %v; want nil after its context's end", err)
		}
	})
	t.Cleanup(stop)
	return &host{t: t, addr: l.Addr().String(), engine: e, stop: stop}
}

// newHost serves a new engine in memory that has the basin of the tests.
func newHost(t *testing.T) *host {
	t.Helper()
	e := openEngine(t, engine.Options{Memory: true})
	if _, _, err := e.CreateBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}, ""); err != nil {
		t.Fatal(err)
	}
	return startHost(t, e, "127.0.0.1:0")
}

func openEngine(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	o.Log = quiet()
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	return e
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// sdk returns the Go SDK's client, with retries as given.
func (h *host) sdk(retry *s2.RetryConfig) *s2.BasinClient { return sdkAt(h.addr, retry) }

func sdkAt(addr string, retry *s2.RetryConfig) *s2.BasinClient {
	url := "http://" + addr + "/v1"
	return s2.New(token, &s2.ClientOptions{
		BaseURL: url, MakeBasinBaseURL: func(string) string { return url }, RetryConfig: retry,
	}).Basin(basin)
}

// request returns a request with the credentials and the basin of the tests.
func (h *host) request(ctx context.Context, method, path string, body io.Reader) *http.Request {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+h.addr+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("S2-Basin", basin)
	return r
}

// do sends r by HTTP/1.1, or by HTTP/2 if it is a session.
func (h *host) do(r *http.Request) *http.Response {
	h.t.Helper()
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(r.Header.Get("Content-Type") == "s2s/proto")
	p.SetHTTP1(!p.UnencryptedHTTP2())
	transport := &http.Transport{Protocols: p, DisableCompression: true}
	h.t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = resp.Body.Close() }) // read or not
	return resp
}

// call sends r and returns the answer's status and body.
func (h *host) call(r *http.Request) (int, string, http.Header) {
	h.t.Helper()
	resp := h.do(r)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// A peer is a client's side of an S2S session.
type peer struct {
	t    testing.TB
	in   *io.PipeWriter // frames of an append session
	resp *http.Response
	out  *bufio.Reader
}

func (h *host) appendSession(stream string) *peer {
	h.t.Helper()
	body, in := io.Pipe()
	h.t.Cleanup(func() { _ = in.Close() })
	return h.session(h.request(h.t.Context(), http.MethodPost, "/v1/streams/"+stream+"/records", body), in)
}

func (h *host) readSession(ctx context.Context, stream, query string) *peer {
	h.t.Helper()
	return h.session(h.request(ctx, http.MethodGet, "/v1/streams/"+stream+"/records?"+query, nil), nil)
}

func (h *host) session(r *http.Request, in *io.PipeWriter) *peer {
	h.t.Helper()
	r.Header.Set("Content-Type", "s2s/proto")
	resp := h.do(r)
	return &peer{t: h.t, in: in, resp: resp, out: bufio.NewReader(resp.Body)}
}

// send sends an append.
func (p *peer) send(in *pb.AppendInput) {
	p.t.Helper()
	p.sendBytes(p.frame(in))
}

// pipeline sends appends behind each other, the server's answer regardless: it
// may end the session before it has read them all.
func (p *peer) pipeline(ins ...*pb.AppendInput) {
	p.t.Helper()
	var frames []byte
	for _, in := range ins {
		frames = append(frames, p.frame(in)...)
	}
	if _, err := p.in.Write(frames); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Fatal(err)
	}
}

func (p *peer) frame(in *pb.AppendInput) []byte {
	p.t.Helper()
	b, err := proto.Marshal(in)
	if err != nil {
		p.t.Fatal(err)
	}
	f, ok := wire.Frame(b)
	if !ok {
		p.t.Fatal("the frame is too long")
	}
	return f
}

func (p *peer) sendBytes(b []byte) {
	p.t.Helper()
	if _, err := p.in.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// A received is a frame that the server sent: a message, or an end.
type received struct {
	Body     []byte
	Terminal bool
	Status   int
}

// next returns the next frame; io.EOF is a clean end.
func (p *peer) next() (received, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.out, head[:]); err != nil {
		return received{}, err
	}
	body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2])-1)
	if _, err := io.ReadFull(p.out, body); err != nil {
		return received{}, err
	}
	if head[3] != 0x80 {
		return received{Body: body}, nil
	}
	return received{Terminal: true, Status: int(binary.BigEndian.Uint16(body)), Body: body[2:]}, nil
}

// ack reads a frame that must be an AppendAck.
func (p *peer) ack() *pb.AppendAck {
	p.t.Helper()
	m := new(pb.AppendAck)
	p.message(m)
	return m
}

// batch reads a frame that must be a ReadBatch.
func (p *peer) batch() *pb.ReadBatch {
	p.t.Helper()
	m := new(pb.ReadBatch)
	p.message(m)
	return m
}

func (p *peer) message(m proto.Message) {
	p.t.Helper()
	f, err := p.next()
	if err != nil || f.Terminal {
		p.t.Fatalf("frame = %d %s, err = %v; want a message", f.Status, f.Body, err)
	}
	if err := proto.Unmarshal(f.Body, m); err != nil {
		p.t.Fatal(err)
	}
}

// terminal reads the last frame and what must follow it, which is nothing.
func (p *peer) terminal(status int, body string) {
	p.t.Helper()
	f, err := p.next()
	if err != nil || !f.Terminal || f.Status != status || !bytes.Contains(f.Body, []byte(body)) {
		p.t.Fatalf("frame = terminal %t, %d %s, err = %v; want terminal %d %s", f.Terminal, f.Status, f.Body, err, status, body)
	}
	p.clean()
}

// clean reads the end of the session.
func (p *peer) clean() {
	p.t.Helper()
	if f, err := p.next(); err != io.EOF { //nolint:errorlint // io.ReadFull gives it bare, and only between frames
		p.t.Errorf("after the end: %d %s, err = %v; want io.EOF", f.Status, f.Body, err)
	}
}

func input(bodies ...string) *pb.AppendInput {
	in := new(pb.AppendInput)
	for _, b := range bodies {
		in.Records = append(in.Records, &pb.AppendRecord{Body: []byte(b)})
	}
	return in
}
