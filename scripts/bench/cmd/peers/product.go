package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"agentchat/scripts/bench/rawhttp"
)

// agents is how many inboxes a discipline uses, besides the one of replay.
const agents = 1000

// The product: agent bench sends to the agents s0, s1, ... whose inboxes are the
// streams. BENCH_TOKEN is its API token.
func init() {
	peers["product"] = func(addr string) (Peer, error) { return newProduct(addr, agents) }
}

func newProduct(addr string, inboxes int) (*httpPeer, error) {
	auth := "Authorization: Bearer " + os.Getenv("BENCH_TOKEN")
	admin := "Authorization: Bearer " + os.Getenv("BENCH_ADMIN_TOKEN")
	names := []string{"bench", "s5000"}
	for i := range inboxes {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	if err := registerAll(addr, auth, names); err != nil {
		return nil, err
	}
	return &httpPeer{addr: addr, s: shape{
		publish: func(s int, b []byte) []byte {
			var m bytes.Buffer
			fmt.Fprintf(&m, `{"to":"s%d","data":%s}`, s, b)
			return rawhttp.Request("POST", "/v1/agents/bench/messages", addr, "application/json", m.Bytes(), auth)
		},
		follow: func(s, _ int) []byte {
			if s < 0 {
				f := fleet{addr: addr, auditor: admin}
				cursor, _, _, err := f.pages() // from now on
				must(err)
				return rawhttp.Request("GET", "/v1/monitor?follow=true&cursor="+url.QueryEscape(cursor), addr, "", nil, admin)
			}
			return rawhttp.Request("GET", fmt.Sprintf("/v1/agents/s%d/inbox?follow=true&cursor=%d", s, tailOf(addr, auth, s)), addr, "", nil, auth)
		},
		read: func(s int, from uint64, limit int) []byte {
			return rawhttp.Request("GET", fmt.Sprintf("/v1/agents/s%d/inbox?cursor=%d&limit=%d", s, from, limit), addr, "", nil, auth)
		},
		mark: `"seq_num":`,
	}}, nil
}

func registerAll(addr, auth string, names []string) error {
	one := func(i int) error { return register(addr, auth, names[i]) }
	return atOnce(len(names), func() (func(int) error, error) { return one, nil })
}

// tailOf returns the tail of an inbox: the other servers follow from now on, too.
func tailOf(addr, auth string, s int) uint64 {
	var page struct {
		Tail uint64 `json:"tail"`
	}
	must(call(http.MethodGet, addr, fmt.Sprintf("/v1/agents/s%d/inbox?limit=1", s), auth, "", &page))
	return page.Tail
}

func register(addr, auth, name string) error {
	return call(http.MethodPut, addr, "/v1/agents/"+name, auth, "{}", &struct{}{})
}

// caller keeps as many connections as there are callers at a time.
var caller = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func call(method, addr, path, auth, body string, answer any) error {
	r, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	k, v, _ := strings.Cut(auth, ": ")
	r.Header.Set(k, v)
	resp, err := caller.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
