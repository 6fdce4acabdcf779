package wire

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// A format says what the strings of a record are in JSON.
type format int

const (
	raw     format = iota // the bytes themselves; what is no UTF-8 is replaced on the way out
	base64s               // standard base64, for any bytes
)

func formatOf(h http.Header) (format, error) {
	switch v := strings.TrimSpace(h.Get("s2-format")); v {
	case "", "raw", "json":
		return raw, nil
	case "base64", "json-binsafe":
		return base64s, nil
	default:
		return raw, faultf(badHeader, "s2-format is %q, not raw or base64", v)
	}
}

func (f format) decode(s string) ([]byte, error) {
	if f == raw {
		return []byte(s), nil
	}
	// One spelling for the same bytes, as S2 has it: Go passes over line breaks and stray bits.
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, faultf(invalid, "invalid base64 encoding")
	}
	return b, nil
}

// inputOfJSON parses an append.
func inputOfJSON(b []byte, f format) (engine.Input, error) {
	var m struct {
		Records []struct {
			Timestamp *uint64     `json:"timestamp"`
			Headers   [][2]string `json:"headers"`
			Body      string      `json:"body"`
		} `json:"records"`
		At    *uint64 `json:"match_seq_num"`
		Token *string `json:"fencing_token"`
	}
	if err := decodeJSON(b, &m); err != nil {
		return engine.Input{}, err
	}
	in := engine.Input{At: m.At, Token: m.Token, Records: make([]stream.Record, len(m.Records)), Times: make([]*uint64, len(m.Records))}
	for i, r := range m.Records {
		body, err := f.decode(r.Body)
		if err != nil {
			return engine.Input{}, err
		}
		in.Records[i].Body, in.Times[i] = body, r.Timestamp
		for _, h := range r.Headers {
			name, err := f.decode(h[0])
			if err != nil {
				return engine.Input{}, err
			}
			value, err := f.decode(h[1])
			if err != nil {
				return engine.Input{}, err
			}
			in.Records[i].Headers = append(in.Records[i].Headers, stream.Header{Name: string(name), Value: string(value)})
		}
	}
	return in, nil
}

// decodeJSON parses one JSON value. Members that are not known are let be, as S2
// does; a member given twice is refused.
func decodeJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return faultf(badJSON, "%v", err)
	}
	return nil
}

// batchJSON appends a ReadBatch to dst.
func batchJSON(dst []byte, f format, entries []stream.Entry, tail *stream.Position) []byte {
	dst = append(dst, `{"records":[`...)
	for i, e := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = entryJSON(dst, f, e)
	}
	dst = append(dst, ']')
	if tail != nil {
		dst = appendPosition(append(dst, `,"tail":`...), *tail)
	}
	return append(dst, '}')
}

func entryJSON(dst []byte, f format, e stream.Entry) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq_num":`...), e.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"timestamp":`...), uint64(e.Timestamp), 10)
	for i, h := range e.Headers {
		dst = append(dst, headerLead(i)...)
		dst = appendString(dst, f, h.Name)
		dst = append(appendString(append(dst, ','), f, h.Value), ']')
	}
	if len(e.Headers) > 0 {
		dst = append(dst, ']')
	}
	if len(e.Body) > 0 {
		dst = appendString(append(dst, `,"body":`...), f, string(e.Body))
	}
	return append(dst, '}')
}

func headerLead(i int) string {
	if i == 0 {
		return `,"headers":[[`
	}
	return `,[`
}

func appendString(dst []byte, f format, s string) []byte {
	if f == base64s {
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(s))
		return append(dst, '"')
	}
	dst, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic(err) // only for what is no UTF-8
	}
	return dst
}

func appendPosition(dst []byte, p stream.Position) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq_num":`...), p.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"timestamp":`...), uint64(p.Timestamp), 10)
	return append(dst, '}')
}

// ackJSON appends the AppendAck of a to dst.
func ackJSON(dst []byte, a engine.Ack) []byte {
	dst = appendPosition(append(dst, `{"start":`...), a.Start)
	dst = appendPosition(append(dst, `,"end":`...), a.End)
	dst = appendPosition(append(dst, `,"tail":`...), a.Tail)
	return append(dst, '}')
}
