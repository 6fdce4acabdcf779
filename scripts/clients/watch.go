package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"agentchat/shared/ident"
)

// A watch collects what the clients report.
type watch struct {
	out      io.Writer
	server   string // its address
	chromium string
	clients  []*exec.Cmd

	mu   sync.Mutex
	seen map[string]*seen // by client and stream
}

// A seen is what a client got of a stream.
type seen struct {
	got    map[ident.Agent][]uint64 // positions, by inbox
	opened int                      // connections
	gone   bool
	faults []string
}

// A report is a line of a client.
type report struct {
	Client string `json:"client"` // "": the process is of one
	Stream string `json:"stream"`
	Open   bool   `json:"open"`
	Gone   string `json:"gone"` // why it gave up
	ID     string `json:"id"`
	Data   string `json:"data"`
}

// start starts the process of some clients in their folder.
func (w *watch) start(ctx context.Context, names, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = work, os.Stderr
	cmd.Env = append(cmd.Environ(), "TOKEN="+operator, "ADMIN="+auditor, "CHROMIUM="+w.chromium,
		"INBOX=http://"+w.server+"/v1/agents/bob/inbox?follow=true", "MONITOR=http://"+w.server+"/v1/monitor?follow=true")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.clients = append(w.clients, cmd)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		for _, stream := range []string{"inbox", "monitor"} {
			w.seen[key(name, stream)] = &seen{got: map[ident.Agent][]uint64{}}
		}
	}
	go w.collect(names[0], out) // ends with the process
	return nil
}

func key(name, stream string) string { return fmt.Sprintf("%-22s %s", name, stream) }

func (w *watch) stop() {
	for _, cmd := range w.clients {
		end(cmd, syscall.SIGTERM)
	}
}

// collect takes the reports of a process, whose first client is name.
func (w *watch) collect(name string, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		r := report{Client: name}
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %.200q: %v\n", name, line, err)
			continue // what it lacks will show
		}
		w.take(r)
	}
}

func (w *watch) take(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[key(r.Client, r.Stream)]
	switch {
	case s == nil:
		fmt.Fprintf(os.Stderr, "a report of nobody: %+v\n", r)
	case r.Gone != "":
		s.gone = true
		s.faults = append(s.faults, "it gave up: "+r.Gone)
	case r.Open:
		s.opened++
	default:
		s.deliver(r)
	}
}

// deliver takes a delivery, whose id has to be where to resume behind it.
func (s *seen) deliver(r report) {
	var d struct {
		Inbox  ident.Agent `json:"inbox"`
		Cursor string      `json:"cursor"`
		SeqNum uint64      `json:"seq_num"`
	}
	err := json.Unmarshal([]byte(r.Data), &d)
	want := d.Cursor
	if r.Stream == "inbox" {
		d.Inbox, want = "bob", strconv.FormatUint(d.SeqNum+1, 10)
	}
	if err != nil || r.ID != want {
		s.faults = append(s.faults, fmt.Sprintf("%s at %d has the id %q; want %q (%v)", d.Inbox, d.SeqNum, r.ID, want, err))
	}
	s.got[d.Inbox] = append(s.got[d.Inbox], d.SeqNum)
}

// judge waits until every client has everything, and says what each of them saw.
func (w *watch) judge(ctx context.Context, want map[ident.Agent][]uint64) error {
	if err := w.until(ctx, func(name string, s *seen) bool { return s.gone || s.size() >= size(expected(name, want)) }); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(w.seen)) {
		s := w.seen[name]
		for id, at := range expected(name, want) {
			if !slices.Equal(s.got[id], at) {
				s.faults = append(s.faults, fmt.Sprintf("inbox of %s: got %d, want %d", id, s.got[id], at))
			}
		}
		verdict := "ok"
		if len(s.faults) > 0 {
			verdict = "FAIL"
			failed++
		}
		fmt.Fprintf(w.out, "%-4s  %-32s %5d of %5d deliveries over %2d connections\n", verdict, name, s.size(), size(expected(name, want)), s.opened)
		for _, f := range s.faults[:min(len(s.faults), 5)] {
			fmt.Fprintf(w.out, "      %.2000s\n", f)
		}
	}
	fmt.Fprintf(w.out, "%d passed, %d failed\n", len(w.seen)-failed, failed)
	if failed > 0 {
		return errors.New("not every client got every delivery once and in order")
	}
	return nil
}

// expected returns what of all inboxes a stream brings.
func expected(name string, all map[ident.Agent][]uint64) map[ident.Agent][]uint64 {
	if strings.HasSuffix(name, "monitor") {
		return all
	}
	return map[ident.Agent][]uint64{"bob": all["bob"]}
}

func (s *seen) size() int { return size(s.got) }

func size(of map[ident.Agent][]uint64) (n int) {
	for _, at := range of {
		n += len(at)
	}
	return n
}

// until waits until ok holds of every client's streams, or for long enough.
func (w *watch) until(ctx context.Context, ok func(name string, s *seen) bool) error {
	all := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, s := range w.seen {
			if !ok(name, s) {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(patience); !all() && time.Now().Before(deadline); {
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
