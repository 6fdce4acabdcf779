package wire

import (
	"bufio"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// The codecs are tested by name: over HTTP they would not get every sequence of bytes.

func NextFrame(r *bufio.Reader) ([]byte, error) { return newCodings().nextFrame(r) }

func Frame(body []byte) ([]byte, bool) {
	f, at := beginFrame(nil)
	f = append(f, body...)
	return f, endFrame(f, at)
}

func TerminalFrame(status int, code, message string) []byte {
	return appendTerminal(nil, &fault{status: status, code: code, message: message})
}

const MaxFrame = maxFrame

var (
	ErrFrame     = errFrame
	InputOfProto = inputOfProto
	AckProto     = ackProto
	BatchProto   = batchProto
	Heartbeat    = heartbeat
)

func InputOfJSON(b []byte, base64 bool) (engine.Input, error) {
	return inputOfJSON(b, formatIf(base64))
}

func BatchJSON(base64 bool, entries []stream.Entry, tail *stream.Position) []byte {
	return batchJSON(nil, formatIf(base64), entries, tail)
}

func formatIf(base64 bool) format {
	if base64 {
		return base64s
	}
	return raw
}

func ParseRead(query string) error          { _, err := parseRead(query); return err }
func ParseList(query string) (int, error)   { q, err := parseList(query); return q.limit, err }
func ParseEventID(s string) (string, error) { id, err := parseEventID(s); return id.String(), err }

// FaultOf returns the status and the code that a client is told of err.
func FaultOf(err error) (status int, code string) { f := faultOf(err); return f.status, f.code }
