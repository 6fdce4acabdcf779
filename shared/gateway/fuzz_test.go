package gateway_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentchat/shared/gateway"
)

// Whatever a function posts is one answer with a final status, or an error.
func FuzzRelay(f *testing.F) {
	nuls := strings.Repeat("\x00", 8)
	for _, s := range []string{
		``, `{}`, `null`, `{"statusCode":200}`, `{"statusCode":100}`, `{"statusCode":99999}`, `{"statusCode":"200"}`, `{"statusCode":204,"body":"x"}`,
		`{"statusCode":200,"body":"AA==","isBase64Encoded":true,"headers":{"Content-Length":"9"},"cookies":["a=1"]}`, `{"statusCode":200,"headers":{"a b":"c\r\nd"}}`,
		`{"statusCode":201}` + nuls + "body", `{"statusCode":201}` + nuls[:3] + "body", nuls, `{"statusCode":304}` + nuls + nuls,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, stream bool) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := gateway.Relay(w, streamed, bytes.NewReader(b), stream); err != nil {
				panic(http.ErrAbortHandler)
			}
		}))
		defer s.Close()
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode < 200 || resp.StatusCode > 599 {
			t.Errorf("%q, stream %v: status %d", b, stream, resp.StatusCode)
		}
	})
}
