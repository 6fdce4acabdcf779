package wire_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	pb "github.com/s2-streamstore/s2-sdk-go/generated"
	"google.golang.org/protobuf/proto"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/s2local/wire"
	"agentchat/shared/stream"
)

func TestRefusals(t *testing.T) {
	h := newHost(t)
	h.appendText(t, "full", "one")
	const records = "/v1/streams/full/records"
	for _, tc := range []struct {
		name, method, path string
		header             string // "name: value", with the value "" to leave one out
		body               string
		status             int
		want               string // what the answer's body contains
	}{
		{"no token", "GET", "/v1/basins", "Authorization: ", "", 401, `"code":"authn"`},
		{"another token", "GET", "/v1/basins", "Authorization: Bearer other", "", 401, `"code":"authn"`},
		{"a prefix of the token", "GET", "/v1/basins", "Authorization: Bearer " + token[:4], "", 401, `"code":"authn"`},
		{"an empty token", "GET", "/v1/basins", "Authorization: Bearer ", "", 401, `"code":"authn"`},
		{"basic", "GET", "/v1/basins", "Authorization: Basic " + token, "", 401, `"code":"authn"`},
		{"scheme in lower case", "GET", "/v1/basins", "Authorization: bearer " + token, "", 200, `"has_more":false`},
		{"no token, no such path", "GET", "/v1/else", "Authorization: ", "", 401, `"code":"authn"`},
		{"health needs none", "GET", "/health", "Authorization: ", "", 200, "OK"},
		{"ping needs none", "GET", "/ping", "Authorization: ", "", 200, "OK"},
		{"no such path", "GET", "/v1/else", "", "", 404, `"code":"bad_path"`},
		{"two slashes", "GET", "/v1//basins", "", "", 404, `"code":"bad_path"`},
		{"slash at the end", "GET", "/v1/basins/", "", "", 404, `"code":"bad_path"`},
		{"a stream of one dot", "GET", "/v1/streams/.", "", "", 400, `"code":"bad_path"`},
		{"a stream of two dots", "GET", "/v1/streams/../records", "", "", 400, `"code":"bad_path"`},
		{"a stream of escaped dots", "GET", "/v1/streams/%2e%2e", "", "", 400, `"code":"bad_path"`},
		{"a long stream", "GET", "/v1/streams/" + strings.Repeat("x", 513), "", "", 400, `"code":"bad_path"`},
		{"a short basin", "GET", "/v1/basins/short", "", "", 400, `"code":"bad_path"`},
		{"method", "POST", "/v1/streams/full", "", "", 405, `"code":"bad_path"`},
		{"no basin", "GET", "/v1/streams", "S2-Basin: ", "", 400, `"code":"bad_header"`},
		{"a bad basin", "GET", "/v1/streams", "S2-Basin: UPPER-CASE", "", 400, `"code":"bad_header"`},
		{"another basin", "GET", records + "/tail", "S2-Basin: other-basin", "", 404, `"code":"basin_not_found"`},
		{"another stream", "GET", "/v1/streams/other/records/tail", "", "", 404, `"code":"stream_not_found"`},
		{"access tokens", "POST", "/v1/access-tokens", "", "{}", 501, `"code":"not_implemented"`},
		{"an access token", "DELETE", "/v1/access-tokens/a%2Fb", "", "", 501, `"code":"not_implemented"`},
		{"metrics", "GET", "/v1/metrics/basin/stream", "", "", 501, `"code":"not_implemented"`},
		{"locations", "PUT", "/v1/locations/default", "", `"x"`, 501, `"code":"not_implemented"`},
		{"a location", "PUT", "/v1/basins/new-basin", "", `{"location":"x"}`, 501, `"code":"not_implemented"`},
		{"a cipher", "POST", "/v1/basins", "", `{"basin":"new-basin","config":{"stream_cipher":"aegis-256"}}`, 501, `"code":"not_implemented"`},
		{"no JSON", "POST", "/v1/streams", "", `{"stream":`, 400, `"code":"bad_json"`},
		{"JSON with a member twice", "POST", "/v1/streams", "", `{"stream":"a","stream":"b"}`, 400, `"code":"bad_json"`},
		{"a mode that is none", "PUT", "/v1/streams/new", "", `{"timestamping":{"mode":"never"}}`, 400, `"code":"bad_json"`},
		{"a retention of nothing", "PUT", "/v1/streams/new", "", `{"retention_policy":{}}`, 400, `"code":"bad_json"`},
		{"a retention of 0", "PUT", "/v1/streams/new", "", `{"retention_policy":{"age":0}}`, 422, `"code":"invalid"`},
		{"a retention of ages", "PATCH", "/v1/streams/full", "", `{"retention_policy":{"age":18446744073709551615}}`, 422, `"code":"invalid"`},
		{"a stream that is there", "POST", "/v1/streams", "", `{"stream":"full"}`, 409, `"code":"resource_already_exists"`},
		{"a long request token", "POST", "/v1/streams", "S2-Request-Token: " + strings.Repeat("x", 37), `{"stream":"new"}`, 422, `"code":"invalid"`},
		{"position", "POST", records, "", `{"records":[{}],"match_seq_num":7}`, 412, `{"seq_num_mismatch":1}`},
		{"fenced", "POST", records, "", `{"records":[{}],"fencing_token":"x"}`, 412, `{"fencing_token_mismatch":""}`},
		{"no records", "POST", records, "", `{"records":[]}`, 422, `"code":"invalid"`},
		{"a header with half a pair", "POST", records, "", `{"records":[{"headers":[["a"]]}]}`, 400, `"code":"bad_json"`},
		{"base64 that is none", "POST", records, "S2-Format: base64", `{"records":[{"body":"?"}]}`, 422, `"code":"invalid"`},
		{"base64 with stray bits", "POST", records, "S2-Format: base64", `{"records":[{"body":"QR=="}]}`, 422, `"code":"invalid"`},
		{"base64 with a line break", "POST", records, "S2-Format: base64", `{"records":[{"body":"Q\nQ=="}]}`, 422, `"code":"invalid"`},
		{"base64 without padding", "POST", records, "S2-Format: base64", `{"records":[{"body":"QQ"}]}`, 422, `"code":"invalid"`},
		{"base64 of URLs", "POST", records, "S2-Format: base64", `{"records":[{"headers":[["aA==","-_-_"]]}]}`, 422, `"code":"invalid"`},
		{"a format that is none", "POST", records, "S2-Format: hex", `{"records":[{}]}`, 400, `"code":"bad_header"`},
		{"no protobuf", "POST", records, "Content-Type: application/protobuf", "\xff", 400, `"code":"bad_proto"`},
		{"a coding that is none", "POST", records, "Content-Encoding: br", "x", 400, `"code":"bad_header"`},
		{"not in its coding", "POST", records, "Content-Encoding: gzip", "x", 400, `"code":"bad_header"`},
		{"at the tail", "GET", records + "?seq_num=1&count=1", "", "", 416, `{"tail":{"seq_num":1,`},
		{"at the tail, clamped", "GET", records + "?seq_num=9&clamp=true", "", "", 416, `{"tail":{"seq_num":1,`},
		{"behind the tail", "GET", records + "?seq_num=9", "", "", 416, `{"tail":{"seq_num":1,`},
		{"events behind the tail", "GET", records + "?seq_num=9", "Accept: text/event-stream", "", 416, `{"tail":{"seq_num":1,`},
		{"two starts", "GET", records + "?seq_num=0&timestamp=0", "", "", 422, `"code":"invalid"`},
		{"until before the start", "GET", records + "?timestamp=5&until=5", "", "", 422, `"code":"invalid"`},
		{"a number that is none", "GET", records + "?seq_num=x", "", "", 400, `"code":"bad_query"`},
		{"an event id that is none", "GET", records, "Last-Event-ID: 1", "", 400, `"code":"bad_header"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.request(t.Context(), tc.method, tc.path, strings.NewReader(tc.body))
			if name, value, ok := strings.Cut(tc.header, ": "); ok {
				r.Header.Set(name, value)
				if value == "" {
					r.Header.Del(name)
				}
			}
			if strings.HasPrefix(tc.header, "Last-Event-ID") {
				r.Header.Set("Accept", "text/event-stream")
			}
			status, body, header := h.call(r)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%s %s: %d %s; want %d %s", tc.method, tc.path, status, body, tc.status, tc.want)
			}
			if mime := header.Get("Content-Type"); status >= 400 && mime != "application/json" {
				t.Errorf("%s %s: content type %q; want application/json", tc.method, tc.path, mime)
			}
			if status == http.StatusMethodNotAllowed && header.Get("Allow") != "DELETE, GET, PATCH, PUT" {
				t.Errorf("%s %s: Allow = %q; want DELETE, GET, PATCH, PUT", tc.method, tc.path, header.Get("Allow"))
			}
		})
	}
}

// A server without a token is closed, not open.
func TestEmptyTokenOpensNothing(t *testing.T) {
	h := wire.New(openEngine(t, engine.Options{Memory: true}), wire.Options{Log: quiet()}).Handler()
	for _, authorization := range []string{"", "Bearer", "Bearer ", "bearer  "} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/basins", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		w := newRecorder()
		h.ServeHTTP(w, r)
		if w.status != http.StatusUnauthorized {
			t.Errorf("a call with %q: status %d; want 401", authorization, w.status)
		}
	}
}

// A body over 2 MiB is refused however its length is told, and one that is
// longer only when decompressed too; after it the server serves on.
func TestBodyLimit(t *testing.T) {
	h := newHost(t)
	long := bytes.Repeat([]byte("x"), 2<<20+1)
	for _, tc := range []struct {
		name, coding string
		body         io.Reader
	}{
		{"declared", "", bytes.NewReader(long)},
		{"chunked", "", io.MultiReader(bytes.NewReader(long))},
		{"gzip bomb", "gzip", bytes.NewReader(gzipOf(t, long))},
		{"zstd bomb", "zstd", bytes.NewReader(zstdOf(t, long))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.request(t.Context(), http.MethodPost, "/v1/streams/s/records", tc.body)
			if tc.coding != "" {
				r.Header.Set("Content-Encoding", tc.coding)
			}
			if status, body, _ := h.call(r); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"code":"invalid"`) {
				t.Errorf("append: %d %s; want 413 invalid", status, body)
			}
		})
	}
	h.appendText(t, "s", "short")
}

// The store meters a record as S2 does: 1 MiB is taken, one byte more is not.
func TestRecordLimit(t *testing.T) {
	h := newHost(t)
	for _, tc := range []struct {
		name string
		size int
		want int
	}{
		{"1 MiB metered", 1<<20 - 8, http.StatusOK},
		{"a byte more", 1<<20 - 7, http.StatusUnprocessableEntity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body := `{"records":[{"body":"` + strings.Repeat("x", tc.size) + `"}]}`
			status, answer, _ := h.call(h.request(t.Context(), http.MethodPost, "/v1/streams/s/records", strings.NewReader(body)))
			if status != tc.want {
				t.Errorf("append: %d %s; want %d", status, answer, tc.want)
			}
		})
	}
}

// Headers of a few bytes take twice their metered size in protobuf. A record that
// would fit no frame is refused, as it could never be read in a session.
func TestRecordThatFitsNoFrame(t *testing.T) {
	h := newHost(t)
	for _, tc := range []struct {
		name    string
		headers int
		want    int
	}{
		{"within a frame", 262_000, http.StatusOK},
		{"within S2's limit, but not a frame", 262_142, http.StatusUnprocessableEntity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			record := &pb.AppendRecord{Headers: make([]*pb.Header, tc.headers)}
			for i := range record.Headers {
				record.Headers[i] = &pb.Header{Name: []byte("a"), Value: []byte("b")}
			}
			body, err := proto.Marshal(&pb.AppendInput{Records: []*pb.AppendRecord{record}})
			if err != nil {
				t.Fatal(err)
			}
			r := h.request(t.Context(), http.MethodPost, "/v1/streams/s/records", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/protobuf")
			if status, answer, _ := h.call(r); status != tc.want {
				t.Errorf("append of %d headers: %d %.200s; want %d", tc.headers, status, answer, tc.want)
			}
		})
	}
	p := h.readSession(t.Context(), "s", "seq_num=0&count=1")
	if got := p.batch(); len(got.GetRecords()) != 1 || len(got.GetRecords()[0].GetHeaders()) != 262_000 {
		t.Errorf("batch of %d records; want one with 262,000 headers", len(got.GetRecords()))
	}
	p.clean()
}

// A page of 1 MiB metered that fits no frame comes in several.
func TestPageThatFitsNoFrame(t *testing.T) {
	h := newHost(t)
	if _, _, err := h.engine.CreateStream(t.Context(), basin, "s", engine.StreamConfig{Uncapped: new(true)}, ""); err != nil {
		t.Fatal(err)
	}
	in := engine.Input{Records: make([]stream.Record, stream.MaxBatchRecords), Times: make([]*uint64, stream.MaxBatchRecords)}
	for i := range in.Records {
		headers := make([]stream.Header, 260, 261)
		if i < 144 {
			headers = headers[:261]
		}
		for j := range headers {
			headers[j] = stream.Header{Name: "a", Value: "b"}
		}
		in.Records[i].Headers, in.Times[i] = headers, new(uint64(1<<63))
	}
	if _, err := h.engine.Append(t.Context(), basin, "s", in); err != nil {
		t.Fatal(err)
	}
	p := h.readSession(t.Context(), "s", "seq_num=0&count=1000")
	first, second := p.batch(), p.batch()
	if got := len(first.GetRecords()) + len(second.GetRecords()); got != len(in.Records) || first.GetTail() != nil || second.GetTail().GetSeqNum() != 1000 {
		t.Errorf("batches of %d records in all, tails %v and %v; want 1000, with the tail in the last", got, first.GetTail(), second.GetTail())
	}
	p.clean()
}

// Requests in a content coding are understood; answers never are in one.
func TestCodings(t *testing.T) {
	h := newHost(t)
	append1 := []byte(`{"records":[{"body":"` + strings.Repeat("x", 5000) + `"}]}`)
	for _, tc := range []struct {
		name string
		body []byte
	}{
		{"gzip", gzipOf(t, append1)},
		{"zstd", zstdOf(t, append1)},
		{"identity", append1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.request(t.Context(), http.MethodPost, "/v1/streams/s/records", bytes.NewReader(tc.body))
			r.Header.Set("Content-Encoding", tc.name)
			if status, body, _ := h.call(r); status != http.StatusOK {
				t.Errorf("append in %s: %d %s; want 200", tc.name, status, body)
			}
		})
	}
	r := h.request(t.Context(), http.MethodGet, "/v1/streams/s/records?seq_num=0", nil)
	r.Header.Set("Accept-Encoding", "gzip, zstd")
	if _, _, header := h.call(r); header.Get("Content-Encoding") != "" {
		t.Errorf("an answer in %q; want it as it is", header.Get("Content-Encoding"))
	}
}

func (h *host) appendText(t testing.TB, name, body string) {
	t.Helper()
	in := engine.Input{Records: []stream.Record{{Body: []byte(body)}}}
	if _, err := h.engine.Append(context.WithoutCancel(t.Context()), basin, name, in); err != nil {
		t.Fatal(err)
	}
}
