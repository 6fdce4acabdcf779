package s2stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// A genuine transport lets no answer through that is not S2's, such as the page
// of a proxy or of a captive portal: the SDK would take an empty one for a stream
// without records, and any JSON for a tail of 0. What such an answer stands
// for is not known, so it is an error of the transport, and a write is of
// unknown outcome. Refusals pass: what they mean is for answer to judge. But one
// that should tell a tail and tells none passes without its body, because the SDK
// would take any JSON in it, too, for a tail of 0.
//
// A read session has a transport of the SDK's own. There every frame must parse,
// and a read through this one judges the position whenever a session ends.
type genuine struct {
	*http.Transport
	clock *clock // is told the dates of answers
}

// errForeign says that an answer is not S2's.
var errForeign = errors.New("an answer that is not S2's")

const maxTail = 4 << 10 // bytes of an answer that tells a tail

// RoundTrip implements http.RoundTripper.
func (g genuine) RoundTrip(r *http.Request) (*http.Response, error) {
	began := g.clock.now()
	res, err := g.Transport.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		if tellsTail(res) != nil {
			res.Body = http.NoBody
		}
		return res, nil
	case res.StatusCode >= 400:
		return res, nil
	}
	if err := check(r, res); err != nil {
		_ = res.Body.Close() // what is left of it does not matter
		return nil, fmt.Errorf("%w: %d: %w", errForeign, res.StatusCode, err)
	}
	g.clock.dated(r.Context(), res.Header, began)
	return res, nil
}

func check(r *http.Request, res *http.Response) error {
	want := "application/json"
	if accept := r.Header.Get("Accept"); accept != "" {
		want = accept
	}
	got, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case r.Method == http.MethodDelete && (res.StatusCode == http.StatusAccepted || res.StatusCode == http.StatusNoContent):
		return nil // there is nothing in it
	case r.Method == http.MethodDelete || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated:
		return errors.New("not a status of its API")
	case err != nil || got != want:
		return fmt.Errorf("content of type %q, not %s", got, want)
	case strings.HasSuffix(r.URL.Path, "/records/tail"):
		return tellsTail(res)
	}
	return nil // who made the call sees what is missing
}

// tellsTail fails unless an answer tells a tail; if it does, its body can be read again.
func tellsTail(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTail))
	_ = res.Body.Close() // what is left of it does not matter
	if err != nil {
		return err
	}
	var told struct {
		Tail *struct {
			Seq *uint64 `json:"seq_num"`
		} `json:"tail"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return err
	}
	if told.Tail == nil || told.Tail.Seq == nil {
		return errors.New("no tail in it")
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
