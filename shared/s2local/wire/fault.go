package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// A fault is an answer that is not a success: as an HTTP status with a JSON
// body, as a terminal frame, or as an SSE event, always with the same content.
type fault struct {
	status  int
	code    string
	message string
	special []byte // the body of the two statuses that have one of their own
}

// The codes of S2 that this server uses, each with its status.
const (
	badHeader       = "bad_header"
	badPath         = "bad_path"
	badQuery        = "bad_query"
	badJSON         = "bad_json"
	badProto        = "bad_proto"
	badFrame        = "bad_frame"
	authn           = "authn"
	basinNotFound   = "basin_not_found"
	streamNotFound  = "stream_not_found"
	exists          = "resource_already_exists"
	streamDeleting  = "stream_deletion_pending"
	invalid         = "invalid"
	storage         = "storage"
	other           = "other"
	notImplemented  = "not_implemented"
	unavailable     = "unavailable"
	upstreamTimeout = "upstream_timeout"
	serverDraining  = "server_draining" // what was not acknowledged was not and will not be written
	clientHangup    = "client_hangup"
	clientHangupNum = 499
)

func statusOf(code string) int {
	switch code {
	case badHeader, badPath, badQuery, badJSON, badProto, badFrame:
		return http.StatusBadRequest
	case authn:
		return http.StatusUnauthorized
	case basinNotFound, streamNotFound:
		return http.StatusNotFound
	case exists, streamDeleting:
		return http.StatusConflict
	case invalid:
		return http.StatusUnprocessableEntity
	case notImplemented:
		return http.StatusNotImplemented
	case unavailable, serverDraining:
		return http.StatusServiceUnavailable
	case upstreamTimeout:
		return http.StatusGatewayTimeout
	case clientHangup:
		return clientHangupNum
	}
	return http.StatusInternalServerError
}

func faultf(code, format string, args ...any) *fault {
	return &fault{status: statusOf(code), code: code, message: fmt.Sprintf(format, args...)}
}

func (f *fault) Error() string { return fmt.Sprintf("%d %s: %s", f.status, f.code, f.message) }

// body returns the JSON that tells f.
func (f *fault) body() []byte {
	if f.special != nil {
		return f.special
	}
	b, err := json.Marshal(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{f.code, f.message})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return b
}

// seqMismatch is the answer to an append whose position was taken: the position
// that it would have got.
func seqMismatch(tail uint64) *fault {
	return &fault{
		status: http.StatusPreconditionFailed, code: "seq_num_mismatch", message: "the position is taken",
		special: append(strconv.AppendUint([]byte(`{"seq_num_mismatch":`), tail, 10), '}'),
	}
}

// tokenMismatch is the answer to an append with another fencing token than the
// stream's.
func tokenMismatch(actual string) *fault {
	b, err := json.Marshal(map[string]string{"fencing_token_mismatch": actual})
	if err != nil {
		panic(err) // a string always marshals
	}
	return &fault{status: http.StatusPreconditionFailed, code: "fencing_token_mismatch", message: "fenced", special: b}
}

// unwritten is the answer to a read of what is not there yet.
func unwritten(tail stream.Position) *fault {
	return &fault{
		status: http.StatusRequestedRangeNotSatisfiable, code: "unwritten", message: "the start is not written yet",
		special: append(appendPosition([]byte(`{"tail":`), tail), '}'),
	}
}

// faultOf returns what a client is told of an error of the engine.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if e, ok := errors.AsType[*stream.PositionError](err); ok {
		return seqMismatch(e.Tail)
	}
	if e, ok := errors.AsType[*stream.FencedError](err); ok {
		return tokenMismatch(e.Token)
	}
	if e, ok := errors.AsType[*engine.RangeError](err); ok {
		return unwritten(e.Tail)
	}
	switch {
	case errors.Is(err, engine.ErrInvalid):
		return faultf(invalid, "%v", err)
	case errors.Is(err, engine.ErrBasinNotFound):
		return faultf(basinNotFound, "%v", err)
	case errors.Is(err, engine.ErrStreamNotFound):
		return faultf(streamNotFound, "%v", err)
	case errors.Is(err, engine.ErrDeleted):
		return faultf(streamDeleting, "%v", err)
	case errors.Is(err, engine.ErrExists):
		return faultf(exists, "%v", err)
	case errors.Is(err, engine.ErrClosed):
		return faultf(unavailable, "the store is closed")
	case errors.Is(err, engine.ErrBusy):
		return faultf(unavailable, "the store is busy")
	case errors.Is(err, engine.ErrLate):
		return faultf(upstreamTimeout, "the disk does not answer; the append may be made yet")
	case errors.Is(err, engine.ErrStorage):
		return faultf(storage, "the store has failed and must be opened again")
	}
	return faultf(other, "an error of this server; see its log")
}

// inPath returns err, as of a call whose path names a basin: a name that can't be
// one is the path's fault.
func inPath(r *http.Request, err error) error {
	if bad := stream.CheckBasinName(r.PathValue("basin")); bad != nil {
		return faultf(badPath, "%v", bad)
	}
	return err
}
