package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

var (
	errDied    = errors.New("the process ended")
	errTimeout = errors.New("it took longer than the function's timeout")
	errSkipped = errors.New("the process asked for another invocation without an answer to this one")
)

const (
	initTime  = 10 * time.Second // for a process to ask for its first invocation
	drainTime = time.Second      // for what it has written to be read when it has ended
)

// A sandbox is one child process and the Runtime API that it talks to, on a
// listener of its own, since AWS_LAMBDA_RUNTIME_API has no room for more than an
// address.
type sandbox struct {
	asked  chan struct{}    // holds one if the process asks for an invocation
	work   chan *invocation // which it then gets
	died   chan struct{}    // closed when the process has ended, or is never to begin
	ending sync.Once
	rest   *time.Timer // while it is idle: ends it; the pool's

	mu      sync.Mutex
	cmd     *exec.Cmd // nil: not started
	killed  bool
	current *invocation // the one that the process has, until it is answered
	failed  string      // what it said of its own start
}

func newSandbox() *sandbox {
	return &sandbox{asked: make(chan struct{}, 1), work: make(chan *invocation), died: make(chan struct{})}
}

// start returns when the process asks for its first invocation. After an error
// it is to be killed.
func (s *sandbox) start(ctx context.Context, name string, f Function, output io.Writer) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := s.launch(l, name, f, output); err != nil { //nolint:contextcheck // what it starts outlives the request
		return errors.Join(err, l.Close())
	}
	late := time.NewTimer(initTime)
	defer late.Stop()
	select {
	case <-s.asked:
		return nil
	case <-s.died:
		return fmt.Errorf("%w: %s", errDied, s.failure())
	case <-late.C:
		return fmt.Errorf("it did not ask for an invocation within %v", initTime)
	}
}

// launch starts the process and the server of its Runtime API, which both end
// with kill, or when the process ends.
func (s *sandbox) launch(l net.Listener, name string, f Function, output io.Writer) error {
	mode := "BUFFERED"
	if f.Stream {
		mode = "RESPONSE_STREAM"
	}
	cmd := exec.Command(f.Bootstrap, f.Arguments...) //nolint:noctx // it outlives the request that starts it; kill ends it
	cmd.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + l.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=" + name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.Memory), "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_REGION=us-east-1",
		"AGENT_CHAT_INVOKE_MODE=" + mode, "PATH=/usr/local/bin:/usr/bin:/bin", "TZ=:UTC",
	}, f.Env...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = output, output, drainTime
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: initTime}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return errClosed
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	go func() { _ = server.Serve(l) }() // ends with the process, below
	go func() {
		_ = cmd.Wait() // how it ended is in its own words in the output
		close(s.died)
		// What it posted before it ended may still be on its way.
		ctx, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // nothing is left to be told
		}
	}()
	return nil
}

func (s *sandbox) alive() bool {
	select {
	case <-s.died:
		return false
	default:
		return true
	}
}

// kill ends the process as AWS ends a sandbox, without a word. It does not wait,
// and may be called again.
func (s *sandbox) kill() {
	s.ending.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.killed = true
		if s.cmd == nil {
			close(s.died)
			return
		}
		_ = s.cmd.Process.Kill() // it may have ended already
	})
}

// An invocation is one event and its answer.
type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	spoken   chan struct{} // closed when it is taken; then one of these follows
	answer   chan *answer  // holds one
	failed   chan error    // holds one
}

// An answer is what a function posted.
type answer struct {
	contentType string
	body        io.Reader
	trailer     func() string // behind the body: the type of the error that broke it off, if one did
	taken       chan struct{} // closed by who got the answer
}

// invoke gives an idle process an event and returns its answer, which the caller
// must take. The process asks for the next invocation after that, or after an error.
func (s *sandbox) invoke(ctx context.Context, id string, event []byte) (*answer, error) {
	deadline, _ := ctx.Deadline()
	inv := &invocation{id: id, event: event, deadline: deadline, spoken: make(chan struct{}), answer: make(chan *answer, 1), failed: make(chan error, 1)}
	s.mu.Lock()
	s.current = inv
	s.mu.Unlock()
	err := s.await(ctx, inv)
	if err == nil || s.take(id) == nil { // the process has spoken, though perhaps at the last moment
		select {
		case a := <-inv.answer:
			return a, nil
		case err = <-inv.failed:
		}
	}
	return nil, err
}

// await returns nil if the process has spoken to the invocation, else why it will not.
func (s *sandbox) await(ctx context.Context, inv *invocation) error {
	select {
	case s.work <- inv:
	case <-s.died:
		return errDied
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-inv.spoken:
		return nil
	case <-s.asked:
		s.asked <- struct{}{} // which it still does
		return errSkipped
	case <-s.died:
		return errDied
	case <-ctx.Done():
		s.kill()
		return ctx.Err()
	}
}

// take returns the invocation that id names, once: to who speaks to it, or to who
// gives it up.
func (s *sandbox) take(id string) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	inv := s.current
	if inv == nil || inv.id != id {
		return nil
	}
	s.current = nil
	close(inv.spoken)
	return inv
}

func (s *sandbox) failure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == "" {
		return "it said nothing of why"
	}
	return s.failed
}
