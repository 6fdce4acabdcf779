package gateway

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// errRelaying is in the tree of an error that came after the status line.
var errRelaying = errors.New("the answer broke off")

var errNoAnswer = errors.New("the answer is none that a function URL takes")

const (
	streamedType = "application/vnd.awslambda.http-integration-response" // by which a function says that it streams
	maxPrelude   = 64 << 10                                              // of the JSON before a streamed body
	writeTime    = 30 * time.Second                                      // for a caller to take what it is sent
)

// A head is what a function answers apart from a body.
type head struct {
	StatusCode int               `json:"statusCode"`
	Headers    map[string]string `json:"headers"`
	Cookies    []string          `json:"cookies"`
}

// relay writes a function's answer to w: a streamed one byte for byte as it is
// produced, a buffered one when it is whole. It is flushed when relay returns.
// One that does not fit its invoke mode is passed on as the raw document, as AWS
// does.
func relay(w http.ResponseWriter, a *answer, streaming bool) error {
	out := &caller{ResponseWriter: w, control: http.NewResponseController(w)}
	defer func() { _ = out.control.SetWriteDeadline(time.Time{}) }() // it is the connection's, and would hit the next answer
	if streaming && a.contentType == streamedType {
		return out.stream(a)
	}
	b, err := io.ReadAll(io.LimitReader(a.body, MaxBuffered+1))
	switch kind := a.trailer(); {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(b) > MaxBuffered:
		return fmt.Errorf("%w: it is over %d bytes", errNoAnswer, MaxBuffered)
	case kind != "":
		return fmt.Errorf("the function failed: %s", kind)
	}
	var doc struct {
		head
		Body            string `json:"body"`
		IsBase64Encoded bool   `json:"isBase64Encoded"`
	}
	if json.Unmarshal(b, &doc) != nil || doc.StatusCode == 0 {
		doc.head = head{StatusCode: http.StatusOK, Headers: map[string]string{"Content-Type": "application/json"}}
		doc.Body, doc.IsBase64Encoded = string(b), false
	}
	body := []byte(doc.Body)
	if doc.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(doc.Body); err != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
	}
	if err := out.begin(doc.head); err != nil {
		return err
	}
	out.send(body)
	return nil
}

// A caller is where an answer goes to. If it is gone, what is written goes
// nowhere.
type caller struct {
	http.ResponseWriter
	control *http.ResponseController
	gone    bool
}

func (c *caller) begin(h head) error {
	if h.StatusCode < http.StatusOK || h.StatusCode > 599 {
		return fmt.Errorf("%w: status %d", errNoAnswer, h.StatusCode)
	}
	for k, v := range h.Headers {
		c.Header().Set(k, v)
	}
	for _, v := range h.Cookies {
		c.Header().Add("Set-Cookie", v)
	}
	c.WriteHeader(h.StatusCode)
	return nil
}

func (c *caller) send(b []byte) {
	if c.gone {
		return
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(writeTime)) // a writer without deadlines does not block for ever, either
	_, err := c.Write(b)
	c.gone = errors.Join(ignoreBody(err), c.control.Flush()) != nil
}

// ignoreBody returns nil for the error of a body where HTTP has none: the front drops it.
func ignoreBody(err error) error {
	if errors.Is(err, http.ErrBodyNotAllowed) {
		return nil
	}
	return err
}

// stream writes the prelude's status and headers, then what follows, each read
// at once. The answer is read to its end though the caller may be gone.
func (c *caller) stream(a *answer) error {
	r := bufio.NewReaderSize(a.body, 32<<10)
	h, err := readPrelude(r)
	if err != nil {
		return err
	}
	if err := c.begin(h); err != nil {
		return err
	}
	c.send(nil)
	buf := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := r.Read(buf)
		if n > 0 {
			c.send(buf[:n])
		}
		if total += n; total > MaxStreamed {
			return fmt.Errorf("%w: it is over %d bytes", errRelaying, MaxStreamed)
		}
		switch {
		case errors.Is(err, io.EOF):
			if kind := a.trailer(); kind != "" {
				return fmt.Errorf("%w: the function failed: %s", errRelaying, kind)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", errRelaying, err)
		}
	}
}

// readPrelude reads the JSON that stands before a streamed body, and the eight
// NUL bytes between them.
func readPrelude(r *bufio.Reader) (head, error) {
	var h head
	var prelude bytes.Buffer
	for nuls := 0; nuls < 8; {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return h, fmt.Errorf("read the prelude: %w", err)
		case c == 0:
			nuls++
		case nuls > 0 || prelude.Len() == maxPrelude:
			return h, fmt.Errorf("%w: its prelude does not end in eight NUL bytes", errNoAnswer)
		default:
			prelude.WriteByte(c)
		}
	}
	if err := json.Unmarshal(prelude.Bytes(), &h); err != nil {
		return h, fmt.Errorf("%w: its prelude is not JSON: %w", errNoAnswer, err)
	}
	return h, nil
}

// refuse answers as AWS's front does: its own JSON, not a problem document.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"Message": message}) // the caller's connection is its own affair
}
