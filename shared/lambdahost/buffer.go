package lambdahost

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"agentchat/shared/serve"
)

// maxBuffered is what Lambda takes of a buffered answer, as JSON and with its
// headers.
const maxBuffered = 6 << 20

// plainBody is the longest body that surely fits as a JSON string, in which a
// byte may take six.
const plainBody = 512 << 10

// buffer runs handler and returns its answer whole, as JSON. One that Lambda
// would not take, with a 502 of its own, is a fault of the handler's, which must
// cut its pages: it is a 500 and a line in the log.
func (h *Host) buffer(handler http.Handler, r *http.Request) (json.RawMessage, error) {
	b, err := h.run(handler, r).document()
	if err == nil && len(b) > maxBuffered {
		err = fmt.Errorf("an answer of %d bytes, more than Lambda buffers", len(b))
		b, err = h.run(serve.Refusal(h.Log, err), r).document()
	}
	return b, err
}

// run returns what handler answered; a panic is a 500, and nothing of an answer
// that was begun is left.
func (h *Host) run(handler http.Handler, r *http.Request) *bufferedWriter {
	w := newBufferedWriter(r)
	if err := guard(handler, w, r); err != nil {
		w = newBufferedWriter(r)
		serve.Refusal(h.Log, err).ServeHTTP(w, r)
	}
	w.WriteHeader(http.StatusOK)
	return w
}

// A bufferedWriter corrects what the proxy's writer gets wrong: the first final
// status counts and informational ones do not, headers set after the status are
// not sent, and what may have no body has none.
type bufferedWriter struct {
	header http.Header
	head   bool // the request is a HEAD
	status int  // 0: none yet
	out    *core.ProxyResponseWriterV2
}

func newBufferedWriter(r *http.Request) *bufferedWriter {
	return &bufferedWriter{header: http.Header{}, head: r.Method == http.MethodHead, out: core.NewProxyResponseWriterV2()}
}

func (w *bufferedWriter) Header() http.Header { return w.header }

func (w *bufferedWriter) WriteHeader(status int) {
	if w.status != 0 || isInformational(status) {
		return
	}
	w.status = status
	headers, cookies := joined(w.header)
	for k, v := range headers {
		w.out.Header()[k] = []string{v}
	}
	w.out.Header()["Set-Cookie"] = cookies
	w.out.WriteHeader(status)
}

func (w *bufferedWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if hasNoBody(w.head, w.status) {
		return len(b), nil
	}
	return w.out.Write(b)
}

// Flush does nothing: a buffered answer leaves when it is whole.
func (w *bufferedWriter) Flush() {}

// document returns the answer as a function URL takes it. A long body is in
// base64, which grows by a third, while a JSON string may double.
func (w *bufferedWriter) document() (json.RawMessage, error) {
	resp, err := w.out.GetProxyResponse()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(resp.Body) > plainBody && !resp.IsBase64Encoded {
		resp.Body, resp.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(resp.Body)), true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(events.LambdaFunctionURLResponse{
		StatusCode: resp.StatusCode, Headers: resp.Headers, Body: resp.Body, IsBase64Encoded: resp.IsBase64Encoded, Cookies: resp.Cookies,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}

// joined returns h with one value a name, as a function URL takes headers, and
// the cookies, which travel apart.
func joined(h http.Header) (headers map[string]string, cookies []string) {
	headers = make(map[string]string, len(h))
	for k, v := range h {
		if k != "Set-Cookie" && len(v) > 0 {
			headers[k] = strings.Join(v, ", ")
		}
	}
	return headers, slices.Clone(h["Set-Cookie"])
}

func isInformational(status int) bool { return status >= 100 && status < 200 }

// hasNoBody reports whether an answer of status has no body, as HTTP wants it.
func hasNoBody(head bool, status int) bool {
	return head || status == http.StatusNoContent || status == http.StatusNotModified
}
