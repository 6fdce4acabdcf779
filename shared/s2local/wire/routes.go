package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A handler answers a call, or returns an error before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// A resource is a path and what each method does to it.
type resource struct {
	path    string
	methods map[string]handler
}

func (s *Server) resources() []resource {
	return []resource{
		{"/v1/basins", map[string]handler{http.MethodGet: s.listBasins, http.MethodPost: s.createBasin}},
		{"/v1/basins/{basin}", map[string]handler{
			http.MethodGet: s.basinConfig, http.MethodPut: s.ensureBasin,
			http.MethodPatch: s.reconfigureBasin, http.MethodDelete: s.deleteBasin,
		}},
		{"/v1/streams", map[string]handler{http.MethodGet: s.listStreams, http.MethodPost: s.createStream}},
		{"/v1/streams/{stream}", map[string]handler{
			http.MethodGet: s.streamConfig, http.MethodPut: s.ensureStream,
			http.MethodPatch: s.reconfigureStream, http.MethodDelete: s.deleteStream,
		}},
		{"/v1/streams/{stream}/records", map[string]handler{http.MethodGet: s.read, http.MethodPost: s.append}},
		{"/v1/streams/{stream}/records/tail", map[string]handler{http.MethodGet: s.tail}},
	}
}

// absent are the parts of S2's service that a store of one's own does not have.
var absent = []string{"/v1/access-tokens", "/v1/metrics", "/v1/locations"}

func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, res := range s.resources() {
		var allow []string
		for method, h := range res.methods {
			mux.Handle(method+" "+res.path, s.answer(h))
			allow = append(allow, method)
		}
		slices.Sort(allow)
		mux.HandleFunc(res.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			writeFault(w, &fault{status: http.StatusMethodNotAllowed, code: badPath, message: "no such method: " + r.Method})
		})
	}
	for _, path := range absent {
		no := s.answer(func(http.ResponseWriter, *http.Request) error { return faultf(notImplemented, "Not implemented") })
		mux.Handle(path, no)
		mux.Handle(path+"/{rest...}", no)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeFault(w, noSuchPath()) })
	return mux
}

func noSuchPath() *fault {
	return &fault{status: http.StatusNotFound, code: badPath, message: "no such path"}
}

// answer makes h a http.Handler. What only the operator can mend is logged.
func (s *Server) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		f := s.told(r.Context(), err)
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "refused",
			slog.String("method", r.Method), slog.String("pattern", r.Pattern), slog.String("code", f.code))
		writeFault(w, f)
	})
}

// told returns what the client is told of err, and logs its cause if that is a
// fault of ours.
func (s *Server) told(ctx context.Context, err error) *fault {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return faultf(clientHangup, "the client went away")
	}
	f := faultOf(err)
	if f.code == storage || f.code == other {
		s.log.LogAttrs(ctx, slog.LevelError, "store failed", slog.Any("error", err))
	}
	return f
}

func writeFault(w http.ResponseWriter, f *fault) {
	w.Header().Set("Content-Type", mimeJSON)
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body()) // the client is gone
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeBytes(w, status, mimeJSON, b)
	return nil
}

func writeBytes(w http.ResponseWriter, status int, mime string, b []byte) {
	w.Header().Set("Content-Type", mime)
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone
}

// maxBody is the longest body of a call that is no session, before and after
// its content coding is undone. No legal append is longer in protobuf.
const maxBody = 2 << 20

// bodyTimeout is how long such a body may take to come.
const bodyTimeout = 30 * time.Second

// body reads the whole body of r, its content coding undone.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every server can
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, faultf(clientHangup, "the body broke off")
	}
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return b, nil
	case "zstd":
		b, err = s.codings.unzstd(b, maxBody)
	case "gzip":
		b, err = gunzip(b, maxBody)
	default:
		return nil, faultf(badHeader, "content-encoding is %q, not zstd or gzip", coding)
	}
	switch {
	case errors.Is(err, errTooLong):
		return nil, tooLarge()
	case err != nil:
		return nil, faultf(badHeader, "the body is not what content-encoding says: %v", err)
	}
	return b, nil
}

func tooLarge() *fault {
	return &fault{status: http.StatusRequestEntityTooLarge, code: invalid, message: "a body is at most 2 MiB"}
}
