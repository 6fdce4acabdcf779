package gateway

import (
	"io"
	"net/http"
	"net/url"
)

// Family shows where a path goes, which no answer tells: several families may
// refuse it in the same words.
func Family(path string) string {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	return familyOf(patterns(), u)
}

// Relay writes what a function posted to w, so that fuzzing needs no process.
func Relay(w http.ResponseWriter, contentType string, body io.Reader, streaming bool) error {
	return relay(w, &answer{contentType: contentType, body: body, trailer: func() string { return "" }}, streaming)
}
