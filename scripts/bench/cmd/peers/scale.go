package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"agentchat/scripts/bench/lat"
	"agentchat/scripts/bench/rawhttp"
)

// A fleet is the product's inboxes s0, s1, ... behind its monitor. Each line that it
// prints is a cell of one table.
type fleet struct {
	*httpPeer
	addr, auditor        string
	inboxes, filled, pid int
	conn                 *rawhttp.Conn // of pages
}

// newFleet registers the inboxes.
func newFleet(addr string, inboxes, filled, pid int) (*fleet, error) {
	p, err := newProduct(addr, inboxes)
	return &fleet{httpPeer: p, addr: addr, auditor: "Authorization: Bearer " + os.Getenv("BENCH_ADMIN_TOKEN"), inboxes: inboxes, filled: filled, pid: pid}, err
}

// scale measures pages, catching up from zero, and what is added to a live message.
func (f *fleet) scale(rate int) error {
	f.cell("memory with all registered", float64(rssOf(f.pid))/(1<<20), "MiB")
	if err := f.fill(); err != nil {
		return err
	}
	f.cell(fmt.Sprintf("memory with %d messages", f.filled), float64(rssOf(f.pid))/(1<<20), "MiB")
	for _, step := range []func() error{f.first, f.catchUp, f.nothingNew, f.catchUpLive, func() error { return f.live(rate) }} {
		lat.Quiet()
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// calls counts the requests of the store that a page costs: the first after the
// process has seen the fleet, and one with nothing new. What goes on in the
// background meanwhile is counted with them.
func (f *fleet) calls(counter string) error {
	if err := f.fill(); err != nil {
		return err
	}
	cursor, _, _, err := f.pages()
	if err != nil {
		return err
	}
	const rounds = 10
	for _, p := range []struct {
		what, cursor string
		limit        int
	}{{"first page of 100", "", 100}, {"first page of 1000", "", 1000}, {"page with nothing new", cursor, 100}} {
		if _, err := count(counter); err != nil {
			return err
		}
		for range rounds {
			if _, _, err := f.page(p.cursor, p.limit); err != nil {
				return err
			}
		}
		n, err := count(counter)
		if err != nil {
			return err
		}
		f.cell("requests of S2 for a "+p.what, float64(n)/rounds, "requests")
	}
	return nil
}

// count returns how many requests passed since the last time.
func count(counter string) (n int, err error) {
	c, err := rawhttp.Dial(counter)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_, b, err := c.Do(rawhttp.Request("GET", "/_count", counter, "", nil))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(b))
}

// cell prints one figure.
func (f *fleet) cell(what string, v float64, unit string) {
	fmt.Printf("monitor of %d inboxes  %s: %.1f %s\n", f.inboxes, what, v, unit)
}

// added prints how much more memory a step took at its peak.
func (f *fleet) added(by string, before int64) {
	f.cell("memory added by "+by, max(0, float64(peakOf(f.pid)-before)/(1<<20)), "MiB")
}

// times prints the middle and the 99th percentile of a list.
func (f *fleet) times(what string, l []time.Duration) {
	r := lat.Of(l, 0)
	f.cell(what+", p50", float64(r.P50.Microseconds()), "us")
	f.cell(what+", p99", float64(r.P99.Microseconds()), "us")
}

// fill sends the messages, round and round the inboxes.
func (f *fleet) fill() error {
	return atOnce(f.filled, func() (func(int) error, error) {
		send, err := f.Publisher()
		return func(i int) error { return send(i%f.inboxes, body(time.Now())) }, err
	})
}

// A page is what matters of a monitor's answer here.
type page struct {
	Deliveries []struct{} `json:"deliveries"`
	NextCursor string     `json:"next_cursor"`
}

// page reads a page, and says how long its answer took to arrive.
func (f *fleet) page(cursor string, limit int) (p page, took time.Duration, err error) {
	target := fmt.Sprintf("/v1/monitor?limit=%d", limit)
	if cursor != "" {
		target += "&cursor=" + url.QueryEscape(cursor)
	}
	if f.conn == nil {
		if f.conn, err = rawhttp.Dial(f.addr); err != nil {
			return p, 0, err
		}
	}
	t := time.Now()
	status, b, err := f.conn.Do(rawhttp.Request("GET", target, f.addr, "", nil, f.auditor))
	took = time.Since(t)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %.100s: status %d: %.200s", target, status, b)
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, took, err
}

// first measures the first page from zero, after one to warm up.
func (f *fleet) first() error {
	for _, limit := range []int{100, 1000} {
		var l []time.Duration
		for i := range 21 {
			p, took, err := f.page("", limit)
			if err != nil {
				return err
			}
			if len(p.Deliveries) == 0 {
				return fmt.Errorf("the first page of %d is empty", limit)
			}
			if i > 0 {
				l = append(l, took)
			}
		}
		f.times(fmt.Sprintf("first page of %d", limit), l)
	}
	return nil
}

// pages reads page after page to the end, and says how long their answers took.
func (f *fleet) pages() (cursor string, n int, took time.Duration, err error) {
	for {
		p, d, err := f.page(cursor, 1000)
		if err != nil {
			return "", 0, 0, err
		}
		n += len(p.Deliveries)
		took += d
		if len(p.Deliveries) == 0 && p.NextCursor == cursor {
			return cursor, n, took, nil
		}
		cursor = p.NextCursor
	}
}

func (f *fleet) catchUp() error {
	before := forgetPeak(f.pid)
	_, n, took, err := f.pages()
	if err != nil {
		return err
	}
	if n != f.filled {
		return fmt.Errorf("the monitor gave %d deliveries; want %d", n, f.filled)
	}
	f.cell("catching up from zero by pages of 1000", float64(n)/took.Seconds(), "/s")
	f.added("catching up by pages", before)
	return nil
}

// nothingNew measures a page at the end of everything.
func (f *fleet) nothingNew() error {
	cursor, _, _, err := f.pages()
	if err != nil {
		return err
	}
	f.cell("length of its cursor", float64(len(cursor))/1024, "KiB")
	before := forgetPeak(f.pid)
	var l []time.Duration
	for i := range 51 {
		_, took, err := f.page(cursor, 100)
		if err != nil {
			return err
		}
		if i > 0 {
			l = append(l, took)
		}
	}
	f.times("page with nothing new", l)
	f.added("pages with nothing new", before)
	return nil
}

// stream follows the monitor from a cursor, and returns how to stop it.
func (f *fleet) stream(cursor string, each func([]byte)) (stop func(), err error) {
	target := "/v1/monitor?follow=true"
	if cursor != "" {
		target += "&cursor=" + url.QueryEscape(cursor)
	}
	return follow(f.addr, rawhttp.Request("GET", target, f.addr, "", nil, f.auditor), each)
}

func (f *fleet) catchUpLive() error {
	var n atomic.Int64
	done := make(chan struct{})
	before := forgetPeak(f.pid)
	t := time.Now()
	stop, err := f.stream("", func([]byte) {
		if n.Add(1) == int64(f.filled) {
			close(done)
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("the monitor's stream gave %d deliveries; want %d", n.Load(), f.filled)
	}
	f.cell("catching up from zero by its stream", float64(f.filled)/time.Since(t).Seconds(), "/s")
	f.added("catching up by its stream", before)
	return nil
}

// live measures the way of a message to the monitor, and to a follower of the inbox
// that it is in: the same messages, in rounds of their own.
func (f *fleet) live(rate int) error {
	cursor, _, _, err := f.pages()
	if err != nil {
		return err
	}
	var pubs []func(int, []byte) error
	for range 8 {
		p, err := f.Publisher()
		if err != nil {
			return err
		}
		pubs = append(pubs, p)
	}
	before := forgetPeak(f.pid)
	var c collector
	stop, err := f.stream(cursor, c.add)
	if err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	n, err := f.paced(&c, pubs, rate, f.inboxes)
	stop()
	if err != nil {
		return err
	}
	f.added("a live monitor and what is sent", before)
	if len(c.l) != n {
		fmt.Printf("  (monitor of %d inboxes: %d of %d delivered)\n", f.inboxes, len(c.l), n)
	}
	f.times(fmt.Sprintf("live message at %d/s", rate), slices.Clone(c.l))

	// The same fleet with the message's own reader instead of the monitor.
	var own collector
	stop, err = f.Follow(0, 1, own.add)
	if err != nil {
		return err
	}
	defer stop()
	time.Sleep(500 * time.Millisecond)
	if _, err = f.paced(&own, pubs, rate, 1); err != nil {
		return err
	}
	f.times(fmt.Sprintf("the same at the inbox's own follower, %d/s", rate), slices.Clone(own.l))
	return nil
}

// paced publishes for three seconds over some inboxes and waits for what comes.
func (f *fleet) paced(c *collector, pubs []func(int, []byte) error, rate, inboxes int) (int, error) {
	_, n, err := paced(pubs, rate, 3*time.Second, inboxes)
	for i := 0; i < 100 && c.n.Load() < int64(n); i++ {
		time.Sleep(20 * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return n, err
}
