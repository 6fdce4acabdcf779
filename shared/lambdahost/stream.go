package lambdahost

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"agentchat/shared/serve"
)

// bufferSize joins small writes; a Flush sends what there is.
const bufferSize = 4 << 10

// stream runs handler and returns its answer as it comes. It returns when the
// status is known; the handler goes on while the body is read, and has returned
// when the body is closed, so that nothing of it is left in the sandbox's next
// invocation. If the body is closed early, the request's context ends and
// writes fail.
//
// A panic before the status is a 500; after it, the body ends with an error,
// which the Runtime API passes on in a trailer.
func (h *Host) stream(cancel context.CancelFunc, handler http.Handler, r *http.Request) *events.LambdaFunctionURLStreamingResponse {
	pr, pw := io.Pipe()
	w := &streamWriter{
		header: http.Header{}, head: r.Method == http.MethodHead, started: make(chan struct{}), body: bufio.NewWriterSize(pw, bufferSize),
	}
	done := make(chan struct{})
	go func() { // ends with the handler, which the body's Close waits for
		defer close(done)
		defer cancel()
		err := guard(handler, w, r)
		if err != nil && !w.begun() {
			w.header = http.Header{}
			serve.Refusal(h.Log, err).ServeHTTP(w, r)
			err = nil
		}
		w.WriteHeader(http.StatusOK)
		_ = w.flush() // if it fails, nobody reads any more
		if err == nil {
			_ = pw.Close() // never fails
			return
		}
		h.Log.LogAttrs(r.Context(), slog.LevelError, "an answer broke off", slog.String("error", err.Error()))
		_ = pw.CloseWithError(messages.InvokeResponse_Error{Type: "Handler.Panic", Message: "the answer broke off"})
	}()
	<-w.started
	return &events.LambdaFunctionURLStreamingResponse{
		StatusCode: w.status, Headers: w.sent, Cookies: w.cookies, Body: &body{PipeReader: pr, cancel: cancel, done: done},
	}
}

// body ends the handler when the runtime is done with the answer.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   <-chan struct{}
}

func (b *body) Close() error {
	b.cancel()
	err := b.PipeReader.Close()
	<-b.done
	return err
}

// A streamWriter is the http.ResponseWriter of a stream. What the header map
// holds when the status is written is sent; later changes race with nobody.
type streamWriter struct {
	header  http.Header
	head    bool // the request is a HEAD
	once    sync.Once
	started chan struct{} // closed once the next three are set
	status  int
	sent    map[string]string
	cookies []string

	mu   sync.Mutex // a handler may write from several goroutines, as with net/http
	body *bufio.Writer
}

func (w *streamWriter) Header() http.Header { return w.header }

// WriteHeader sends the status and the headers. Informational statuses are not
// passed on: a function URL has no place for them.
func (w *streamWriter) WriteHeader(status int) {
	if isInformational(status) {
		return
	}
	w.once.Do(func() {
		w.status = status
		w.sent, w.cookies = joined(w.header)
		close(w.started)
	})
}

func (w *streamWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if hasNoBody(w.head, w.status) {
		return len(b), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Write(b)
}

// Flush sends what was written.
func (w *streamWriter) Flush() { _ = w.FlushError() }

// FlushError sends what was written; http.ResponseController prefers it.
func (w *streamWriter) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return w.flush()
}

func (w *streamWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.body.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func (w *streamWriter) begun() bool {
	select {
	case <-w.started:
		return true
	default:
		return false
	}
}
