// peers measures durable-publish, replay, live delivery and fan-in of several
// servers through one client program. Servers are started and stopped by peers.sh.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentchat/scripts/bench/lat"
)

// Peer is one messaging server under test.
type Peer interface {
	// Publisher returns a function that publishes and returns once the server
	// has acknowledged; each call has its own connection.
	Publisher() (func(stream int, body []byte) error, error)
	// Load stores n bodies in stream as fast as the peer's client allows.
	Load(stream, n int, body func(i int) []byte) error
	// Replay reads stream from its start and calls f for each, until n were seen.
	Replay(stream, n int, f func([]byte)) error
	// Follow delivers what is published from now on; stream -1 is every stream
	// (of the first m). It returns when it is ready; delivery goes on until stop.
	Follow(stream, m int, f func([]byte)) (stop func(), err error)
	Close()
}

var peers = map[string]func(addr string) (Peer, error){}

const abc = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

var pad = func() string {
	b := make([]byte, 1<<16)
	for i := range b {
		b[i] = abc[rand.IntN(64)]
	}
	return string(b)
}()

// body is a 1 KiB JSON message that carries its send time.
func body(t time.Time) []byte {
	off := rand.IntN(len(pad) - 1100)
	b := make([]byte, 0, 1024)
	b = append(b, `{"t":"`...)
	s := strconv.FormatInt(t.UnixNano(), 10)
	for range 20 - len(s) {
		b = append(b, '0')
	}
	b = append(b, s...)
	b = append(b, `","from":"agent-a","to":"agent-b","type":"text","text":"`...)
	b = append(b, pad[off:off+1024-len(b)-2]...)
	return append(b, `"}`...)
}

func sent(b []byte) time.Duration {
	i := bytes.Index(b, []byte(`"t":"`))
	if i < 0 || len(b) < i+25 {
		return -1
	}
	n, err := strconv.ParseInt(string(b[i+5:i+25]), 10, 64)
	if err != nil {
		return -1
	}
	return time.Duration(time.Now().UnixNano() - n)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type collector struct {
	mu sync.Mutex
	l  []time.Duration
	n  atomic.Int64
}

func (c *collector) add(b []byte) {
	d := sent(b)
	c.mu.Lock()
	c.l = append(c.l, d)
	c.mu.Unlock()
	c.n.Add(1)
}

// paced publishes rate messages a second for d over the publishers; send times are
// fixed ahead, and a publisher that is late because the server held it up counts
// from the fixed time, so the stall is charged.
func paced(pubs []func(int, []byte) error, rate int, d time.Duration, m int) (lat.Result, int, error) {
	lat.Quiet()
	n := int(float64(rate) * d.Seconds())
	gap := time.Second / time.Duration(rate)
	start := time.Now().Add(20 * time.Millisecond)
	lists := make([][]time.Duration, len(pubs))
	var fail error
	var wg sync.WaitGroup
	for w, p := range pubs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w; i < n; i += len(pubs) {
				at := start.Add(time.Duration(i) * gap)
				if wait := time.Until(at); wait > 0 {
					time.Sleep(wait)
					at = time.Now() // the timer's own lateness is not the server's
				}
				if err := p(i%m, body(at)); err != nil {
					fail = err
					return
				}
				lists[w] = append(lists[w], time.Since(at))
			}
		}()
	}
	wg.Wait()
	var all []time.Duration
	for _, l := range lists {
		all = append(all, l...)
	}
	return lat.Of(all, time.Since(start)), n, fail
}

func main() {
	kind := flag.String("peer", "", "which")
	label := flag.String("label", "", "name printed")
	addr := flag.String("addr", "", "server address")
	what := flag.String("what", "pub,live,fanin,replay", "disciplines: pub live fanin idle many replay scale")
	d := flag.Duration("d", 2*time.Second, "time per run")
	replayN := flag.Int("replay", 100_000, "messages to replay")
	runs := flag.Int("runs", 3, "runs of each")
	rate := flag.Int("rate", 1000, "live messages a second")
	clients := flag.String("clients", "1,16,64", "publishing clients")
	followers := flag.Int("followers", 1000, "followers, each of its own stream, in disciplines many and idle")
	inboxes := flag.Int("inboxes", 1000, "inboxes behind the monitor in discipline scale")
	filled := flag.Int("filled", 100_000, "messages in all of them together")
	counter := flag.String("counter", "", "address of a counter before the store: count its requests in discipline scale, and nothing else")
	pid := flag.Int("pid", 0, "process id of the server, for its CPU time and memory")
	flag.Parse()
	if *label == "" {
		*label = *kind
	}
	mk := peers[*kind]
	if mk == nil {
		fmt.Fprintln(os.Stderr, "no such peer")
		os.Exit(2)
	}
	if *what == "scale" {
		f, err := newFleet(*addr, *inboxes, *filled, *pid)
		must(err)
		if *counter != "" {
			must(f.calls(*counter))
		} else {
			must(f.scale(*rate))
		}
		return
	}
	p, err := mk(*addr)
	must(err)
	defer p.Close()
	pubs := []func(int, []byte) error{}
	grow := func(n int) {
		for len(pubs) < n {
			f, err := p.Publisher()
			must(err)
			pubs = append(pubs, f)
		}
	}
	has := func(s string) bool { return strings.Contains(","+*what+",", ","+s+",") }
	if has("pub") {
		for c := range strings.SplitSeq(*clients, ",") {
			n, err := strconv.Atoi(c)
			must(err)
			grow(n)
			var rs []lat.Result
			ops, used := 0, cpuOf(*pid)
			for range *runs {
				r, err := lat.Closed(n, *d, func(w, i int) error { return pubs[w](1+(w*31+i)%100, body(time.Now())) })
				must(err)
				rs = append(rs, r)
				ops += r.Ops
			}
			lat.Summary(fmt.Sprintf("%-18s publish clients=%d", *label, n), rs)
			figure(*pid, *label, fmt.Sprintf("cpu of a publish, clients=%d", n), float64((cpuOf(*pid)-used).Microseconds())/float64(ops), "us")
		}
	}
	if has("live") {
		grow(8)
		var dl, ack []lat.Result
		for range *runs {
			var c collector
			stop, err := p.Follow(0, 1, c.add)
			must(err)
			time.Sleep(200 * time.Millisecond)
			a, n, err := paced(pubs[:8], *rate, 3*time.Second, 1)
			must(err)
			for i := 0; i < 100 && c.n.Load() < int64(n); i++ {
				time.Sleep(20 * time.Millisecond)
			}
			stop()
			c.mu.Lock()
			if len(c.l) != n {
				fmt.Printf("  (%s live: %d of %d delivered)\n", *label, len(c.l), n)
			}
			dl, ack = append(dl, lat.Of(c.l, a.Elapsed)), append(ack, a)
			c.mu.Unlock()
		}
		lat.Summary(fmt.Sprintf("%-18s live deliver @%d/s", *label, *rate), dl)
		lat.Summary(fmt.Sprintf("%-18s live ack     @%d/s", *label, *rate), ack)
	}
	if has("fanin") {
		grow(16)
		var dl, sat []lat.Result
		for range *runs {
			var c collector
			stop, err := p.Follow(-1, 1000, c.add)
			must(err)
			time.Sleep(300 * time.Millisecond)
			a, n, err := paced(pubs[:8], *rate, 3*time.Second, 1000)
			must(err)
			for i := 0; i < 100 && c.n.Load() < int64(n); i++ {
				time.Sleep(20 * time.Millisecond)
			}
			c.mu.Lock()
			if len(c.l) != n {
				fmt.Printf("  (%s fan-in: %d of %d delivered)\n", *label, len(c.l), n)
			}
			dl = append(dl, lat.Of(c.l, a.Elapsed))
			c.l = nil
			c.mu.Unlock()
			c.n.Store(0)
			t := time.Now()
			r, err := lat.Closed(16, *d, func(w, i int) error { return pubs[w]((w*61+i)%1000, body(time.Now())) })
			must(err)
			for i := 0; i < 250 && c.n.Load() < int64(r.Ops); i++ {
				time.Sleep(20 * time.Millisecond)
			}
			_ = t
			c.mu.Lock()
			if len(c.l) != r.Ops {
				fmt.Printf("  (%s fan-in saturated: %d of %d delivered)\n", *label, len(c.l), r.Ops)
			}
			sat = append(sat, lat.Of(c.l, r.Elapsed))
			c.mu.Unlock()
			stop()
		}
		lat.Summary(fmt.Sprintf("%-18s fan-in 1000->1 @%d/s", *label, *rate), dl)
		lat.Summary(fmt.Sprintf("%-18s fan-in 1000->1 16 pubs flat out", *label), sat)
	}
	if has("idle") {
		before := rssOf(*pid)
		var stops []func()
		for i := range *followers {
			stop, err := p.Follow(i, 1, func([]byte) {})
			must(err)
			stops = append(stops, stop)
		}
		time.Sleep(2 * time.Second)
		figure(*pid, *label, "memory of an idle follower", float64(rssOf(*pid)-before)/float64(*followers)/1024, "KiB")
		for _, stop := range stops {
			stop()
		}
	}
	if has("many") {
		grow(8)
		var c collector
		var stops []func()
		for i := range *followers {
			stop, err := p.Follow(i, 1, c.add)
			must(err)
			stops = append(stops, stop)
		}
		time.Sleep(500 * time.Millisecond)
		var dl, ack []lat.Result
		for range *runs {
			a, n, err := paced(pubs[:8], *rate, 3*time.Second, *followers)
			must(err)
			for i := 0; i < 100 && c.n.Load() < int64(n); i++ {
				time.Sleep(20 * time.Millisecond)
			}
			c.mu.Lock()
			if len(c.l) != n {
				fmt.Printf("  (%s many: %d of %d delivered)\n", *label, len(c.l), n)
			}
			dl, ack = append(dl, lat.Of(c.l, a.Elapsed)), append(ack, a)
			c.l = nil
			c.mu.Unlock()
			c.n.Store(0)
		}
		lat.Summary(fmt.Sprintf("%-18s %d followers deliver @%d/s", *label, *followers, *rate), dl)
		lat.Summary(fmt.Sprintf("%-18s %d followers ack     @%d/s", *label, *followers, *rate), ack)
		for _, stop := range stops {
			stop()
		}
	}
	if has("replay") {
		const s = 5000
		t := time.Now()
		must(p.Load(s, *replayN, func(int) []byte { return body(time.Now()) }))
		fmt.Printf("%-18s load %d: %.0f/s\n", *label, *replayN, float64(*replayN)/time.Since(t).Seconds())
		var rs []lat.Result
		bytes := 0
		for range *runs {
			lat.Quiet()
			bytes = 0
			t := time.Now()
			must(p.Replay(s, *replayN, func(b []byte) { bytes += len(b) }))
			rs = append(rs, lat.Result{Ops: *replayN, Elapsed: time.Since(t)})
		}
		m := lat.Median(rs)
		lat.Summary(fmt.Sprintf("%-18s replay %d", *label, *replayN), rs)
		fmt.Printf("%-18s replay %.0f MiB/s\n", *label, float64(bytes)/m.Elapsed.Seconds()/(1<<20))
	}
}
