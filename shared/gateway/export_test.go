package gateway

import (
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
