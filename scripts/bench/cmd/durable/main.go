// durable is a throw-away reference server: net/http + strict envelope check +
// group-committed durable append + SSE follow. It marks the ceiling a product of
// this shape can reach on a machine; it has no authentication or validation.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"agentchat/scripts/bench/store"
)

type hub struct {
	mu  sync.RWMutex
	sub map[int64]map[chan []byte]struct{} // -1 is the monitor
}

func (h *hub) add(s int64) chan []byte {
	c := make(chan []byte, 8192)
	h.mu.Lock()
	if h.sub[s] == nil {
		h.sub[s] = map[chan []byte]struct{}{}
	}
	h.sub[s][c] = struct{}{}
	h.mu.Unlock()
	return c
}

func (h *hub) del(s int64, c chan []byte) {
	h.mu.Lock()
	delete(h.sub[s], c)
	h.mu.Unlock()
}

func (h *hub) push(s int64, b []byte) {
	h.mu.RLock()
	for _, k := range [2]int64{s, -1} {
		for c := range h.sub[k] {
			c <- b
		}
	}
	h.mu.RUnlock()
}

func main() {
	addr := flag.String("addr", "127.0.0.1:19810", "loopback address")
	dir := flag.String("dir", "/var/tmp/perf-data/durable", "data")
	eng := flag.String("e", "pebble-gc", "engine")
	flag.Parse()
	st, err := store.Open(*eng, *dir)
	if err != nil {
		panic(err)
	}
	h := &hub{sub: map[int64]map[chan []byte]struct{}{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /streams/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
		if err != nil || r.ContentLength > 1<<20 {
			http.Error(w, "bad", 400)
			return
		}
		b := make([]byte, max(r.ContentLength, 0))
		if _, err := io.ReadFull(r.Body, b); err != nil || !json.Valid(b) {
			http.Error(w, "bad", 400)
			return
		}
		seq, err := st.Append(uint32(id), b)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		h.push(int64(id), b)
		w.Header().Set("Content-Type", "application/json")
		w.Write(strconv.AppendUint([]byte(`{"stream":`+r.PathValue("id")+`,"seq":`), seq, 10))
		io.WriteString(w, "}")
	})
	mux.HandleFunc("GET /streams/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 32)
		from, _ := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		var b bytes.Buffer
		b.WriteString(`{"records":[`)
		n, err := st.Read(uint32(id), from, limit, func(seq uint64, body []byte) error {
			if seq > from {
				b.WriteByte(',')
			}
			b.WriteString(`{"seq":`)
			b.Write(strconv.AppendUint(b.AvailableBuffer(), seq, 10))
			b.WriteString(`,"body":`)
			b.Write(body)
			b.WriteByte('}')
			return nil
		})
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		b.WriteString(`],"next":` + strconv.FormatUint(from+uint64(n), 10) + `}`)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
		w.Write(b.Bytes())
	})
	follow := func(w http.ResponseWriter, r *http.Request, key int64) {
		c := h.add(key)
		defer h.del(key, c)
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		rc.Flush()
		buf := []byte{}
		for {
			select {
			case <-r.Context().Done():
				return
			case b := <-c:
				buf = append(append(append(buf[:0], "data: "...), b...), "\n\n"...)
			more:
				for len(buf) < 64<<10 {
					select {
					case b := <-c:
						buf = append(append(append(buf, "data: "...), b...), "\n\n"...)
					default:
						break more
					}
				}
				if _, err := w.Write(buf); err != nil {
					return
				}
				rc.Flush()
			}
		}
	}
	mux.HandleFunc("GET /streams/{id}/follow", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 32)
		follow(w, r, id)
	})
	mux.HandleFunc("GET /monitor", func(w http.ResponseWriter, r *http.Request) { follow(w, r, -1) })
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		panic(err)
	}
	http.Serve(l, mux)
}
