package valid

import (
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agentchat/shared/api"
)

// label checks a short text that is shown to people: its length and that it
// has no control characters.
func label(pointer, s string, least, most int) error {
	if len(s) < least || len(s) > most {
		return api.InvalidField(pointer, "%d bytes of UTF-8; %d to %d are allowed", len(s), least, most)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return api.InvalidField(pointer, "control characters are not allowed here")
	}
	return nil
}

// pairs checks metadata and labels, in the order of their keys so that the same
// request is always refused alike.
func pairs(pointer string, m map[string]string) error {
	if len(m) > api.MaxMapEntries {
		return api.InvalidField(pointer, "%d entries; there are at most %d", len(m), api.MaxMapEntries)
	}
	total := 0
	var room [8]string // most maps are small
	keys := slices.AppendSeq(room[:0], maps.Keys(m))
	slices.Sort(keys)
	for _, k := range keys {
		// The pointer of a bad key would be as bad, so the map is to blame.
		if len(k) < 1 || len(k) > api.MaxMapKeyBytes {
			return api.InvalidField(pointer, "a key of %d bytes; keys have 1 to %d", len(k), api.MaxMapKeyBytes)
		}
		if strings.ContainsFunc(k, unicode.IsControl) {
			return api.InvalidField(pointer, "a key with a control character, %q; keys have none", k)
		}
		if n := len(m[k]); n > api.MaxMapValueBytes {
			return api.InvalidField(pointer+"/"+escape(k), "%d bytes of UTF-8; a value has at most %d", n, api.MaxMapValueBytes)
		}
		total += len(k) + len(m[k])
	}
	if total > api.MaxMapBytes {
		return api.InvalidField(pointer, "%d bytes of keys and values; there are at most %d", total, api.MaxMapBytes)
	}
	return nil
}

// escape returns key as a token of a JSON pointer.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// mediaType checks a media type of RFC 9110 with its parameters; "" is none.
func mediaType(pointer, s string) error {
	if s == "" {
		return nil
	}
	if len(s) > api.MaxContentType {
		return api.InvalidField(pointer, "%d bytes; a media type has at most %d", len(s), api.MaxContentType)
	}
	base, _, err := mime.ParseMediaType(s)
	// Package mime takes white space around it, a type alone, and a range of
	// types, which says what one would accept and not what one sends.
	if err != nil || strings.TrimSpace(s) != s || !strings.Contains(base, "/") || strings.Contains(base, "*") || !printable(s) {
		return api.InvalidField(pointer, "a media type is type/subtype with parameters, in ASCII, as text/markdown; charset=utf-8")
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// endpoint checks an absolute URL of one of the schemes; "" is none. Nobody
// here ever connects to it, but others may, and read it with other parsers: so
// it has nothing that two parsers could read differently.
func endpoint(pointer, s string, schemes ...string) error {
	if s == "" {
		return nil
	}
	if len(s) > api.MaxEndpoint {
		return api.InvalidField(pointer, "%d bytes; a URL has at most %d", len(s), api.MaxEndpoint)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || strings.ContainsAny(s, " \"<>\\^`{|}") || !printable(s) || !printable(u.Host):
		return api.InvalidField(pointer, "a URL is of the characters of RFC 3986; others are percent-encoded, and a host is in ASCII")
	case !slices.Contains(schemes, u.Scheme) || u.Hostname() == "":
		return api.InvalidField(pointer, "a URL here is absolute, with a host, and its scheme is %s", strings.Join(schemes, " or "))
	case u.User != nil:
		return api.InvalidField(pointer, "a URL here has no user name and no password")
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return api.InvalidField(pointer, "a port is 0 to 65535")
		}
	}
	return nil
}

// versions checks a list of protocol versions. Their numbers are short enough
// to be compared as numbers.
func versions(pointer string, vs []string) error {
	if len(vs) > api.MaxVersions {
		return api.InvalidField(pointer, "%d versions; there are at most %d", len(vs), api.MaxVersions)
	}
	for i, v := range vs {
		p := fmt.Sprintf("%s/%d", pointer, i)
		if !semVer(v) {
			return api.InvalidField(p, "a version is MAJOR.MINOR.PATCH, as 1.10.0: numbers of up to 9 digits without leading zeros, and nothing else")
		}
		if slices.Contains(vs[:i], v) {
			return api.InvalidField(p, "version %s is given twice; give it once", v)
		}
	}
	return nil
}

// semVer reports whether v is three numbers of 1 to 9 digits without leading
// zeros: Semantic Versioning without its pre-releases and builds.
func semVer(v string) bool {
	parts := strings.Split(v, ".")
	for _, p := range parts {
		if p == "" || len(p) > 9 || p != "0" && p[0] == '0' || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return len(parts) == 3
}
