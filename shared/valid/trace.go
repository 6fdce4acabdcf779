package valid

import "strings"

// TraceParent returns the traceparent header s in the form of version 00 (W3C
// Trace Context). ok is false if s is none: it is then ignored and never a
// reason to refuse a request. Of a later version the part that every version
// begins with counts.
func TraceParent(s string) (parent string, ok bool) {
	const form = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if len(s) < len(form) {
		return "", false
	}
	version, trace, span, flags := s[:2], s[3:35], s[36:52], s[53:55]
	for _, field := range []string{version, trace, span, flags} {
		if strings.Trim(field, "0123456789abcdef") != "" {
			return "", false
		}
	}
	later := version != "00" && len(s) > len(form) && s[len(form)] == '-'
	switch {
	case s[2] != '-' || s[35] != '-' || s[52] != '-', version == "ff", len(s) > len(form) && !later,
		strings.Trim(trace, "0") == "", strings.Trim(span, "0") == "":
		return "", false
	}
	return "00" + s[2:len(form)], true
}
