package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"

	"agentchat/scripts/bench/rawhttp"
)

// shape is what differs between HTTP servers.
type shape struct {
	publish func(stream int, body []byte) []byte // whole request
	follow  func(stream, m int) []byte
	read    func(stream int, from uint64, limit int) []byte
	history func(stream int, last string) []byte
	mark    string // what stands once in each record of a page
}

type httpPeer struct {
	addr string
	s    shape
	cuts int
}

func (h *httpPeer) Publisher() (func(int, []byte) error, error) {
	c, err := rawhttp.Dial(h.addr)
	if err != nil {
		return nil, err
	}
	return func(stream int, b []byte) error {
		st, rb, err := c.Do(h.s.publish(stream, b))
		if err == nil && (st < 200 || st > 202) {
			err = fmt.Errorf("status %d: %.200s", st, rb)
		}
		return err
	}, nil
}

func (h *httpPeer) Load(stream, n int, body func(int) []byte) error {
	return atOnce(n, func() (func(int) error, error) {
		p, err := h.Publisher()
		return func(i int) error { return p(stream, body(i)) }, err
	})
}

func (h *httpPeer) Replay(stream, n int, f func([]byte)) error {
	if h.s.history != nil {
		got, last := 0, "earliest"
		for got < n {
			before := got
			err := rawhttp.SSE(h.addr, h.s.history(stream, last), nil, func(id []byte) { last = string(id) }, func(d []byte) bool {
				f(d)
				got++
				return got < n
			})
			if err != nil && got == before {
				return fmt.Errorf("%w after %d", err, got)
			}
			if err != nil {
				h.cuts++ // the server ended the replay; go on from the last id
			}
		}
		if h.cuts > 0 {
			fmt.Printf("  (replay was cut and resumed %d times)\n", h.cuts)
			h.cuts = 0
		}
		return nil
	}
	if h.s.read == nil {
		return errors.New("no replay")
	}
	c, err := rawhttp.Dial(h.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	mark := []byte(h.s.mark)
	for from := uint64(0); from < uint64(n); {
		st, b, err := c.Do(h.s.read(stream, from, 1000))
		if err != nil || st != 200 {
			return fmt.Errorf("replay status %d: %v", st, err)
		}
		k := bytes.Count(b, mark) // lean: the server's cost is measured, not this client's parser
		if k == 0 {
			return errors.New("empty page")
		}
		f(b)
		from += uint64(k)
	}
	return nil
}

func (h *httpPeer) Follow(stream, m int, f func([]byte)) (func(), error) {
	return follow(h.addr, h.s.follow(stream, m), f)
}

// follow opens an event stream and calls f with the data of each event.
func follow(addr string, request []byte, f func([]byte)) (stop func(), err error) {
	ready := make(chan struct{})
	fail := make(chan error, 1)
	var done atomic.Bool
	go func() {
		fail <- rawhttp.SSE(addr, request, ready, nil, func(d []byte) bool {
			if done.Load() {
				return false
			}
			if len(d) > 100 {
				f(d)
			}
			return true
		})
	}()
	select {
	case <-ready:
		return func() { done.Store(true) }, nil
	case err := <-fail:
		return nil, err
	}
}

func (h *httpPeer) Close() {}

func token() string {
	e := base64.RawURLEncoding
	s := e.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + e.EncodeToString([]byte(`{"mercure":{"publish":["*"],"subscribe":["*"]}}`))
	m := hmac.New(sha256.New, []byte("perf-perf-perf-perf-perf-perf-perf-perf"))
	m.Write([]byte(s))
	return s + "." + e.EncodeToString(m.Sum(nil))
}

func init() {
	peers["durable"] = func(addr string) (Peer, error) {
		return &httpPeer{addr: addr, s: shape{
			publish: func(s int, b []byte) []byte {
				return rawhttp.Request("POST", fmt.Sprintf("/streams/%d", s), addr, "application/json", b)
			},
			follow: func(s, _ int) []byte {
				p := fmt.Sprintf("/streams/%d/follow", s)
				if s < 0 {
					p = "/monitor"
				}
				return rawhttp.Request("GET", p, addr, "", nil)
			},
			read: func(s int, from uint64, limit int) []byte {
				return rawhttp.Request("GET", fmt.Sprintf("/streams/%d?from=%d&limit=%d", s, from, limit), addr, "", nil)
			},
			mark: `"body":`,
		}}, nil
	}
	peers["mercure"] = func(addr string) (Peer, error) {
		auth := "Authorization: Bearer " + token()
		const base = "/.well-known/mercure"
		sub := func(s int, extra ...string) []byte {
			t := fmt.Sprintf("https://x/%d", s)
			if s < 0 {
				t = "*"
			}
			return rawhttp.Request("GET", base+"?topic="+url.QueryEscape(t), addr, "", nil, extra...)
		}
		return &httpPeer{addr: addr, s: shape{
			publish: func(s int, b []byte) []byte {
				form := "topic=" + url.QueryEscape(fmt.Sprintf("https://x/%d", s)) + "&data=" + url.QueryEscape(string(b))
				return rawhttp.Request("POST", base, addr, "application/x-www-form-urlencoded", []byte(form), auth)
			},
			follow:  func(s, _ int) []byte { return sub(s) },
			history: func(s int, last string) []byte { return sub(s, "Last-Event-ID: "+last) },
		}}, nil
	}
}
