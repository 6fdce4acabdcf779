package engine_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// writers append to few streams, so that each stream has several of them. A
// record says which append it belongs to: "<writer>/<append>/<index>".
const (
	crashWriters = 12
	crashStreams = 3
	crashBatch   = 3
)

func crashStream(writer int) string { return fmt.Sprintf("crash/%d", writer%crashStreams) }

func crashInput(writer, n int) engine.Input {
	in := engine.Input{}
	for i := range crashBatch {
		pad := strings.Repeat("x", (writer*7+n*31+i)%2000)
		in.Records = append(in.Records, stream.Record{Body: fmt.Appendf(nil, "%d/%d/%d/%s", writer, n, i, pad)})
	}
	return in
}

// An ackLog notes what was acknowledged: of each writer, the positions of its
// appends in order.
type ackLog struct {
	mu    sync.Mutex
	acked [crashWriters][]uint64
	began [crashWriters]int // appends submitted
}

func (l *ackLog) begin(writer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began[writer]++
}

func (l *ackLog) ack(writer int, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[writer] = append(l.acked[writer], seq)
}

// copy returns what was acknowledged so far.
func (l *ackLog) copy() (acked [crashWriters][]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.acked {
		acked[w] = append(acked[w], l.acked[w]...)
	}
	return acked
}

func (l *ackLog) submitted() [crashWriters]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.began
}

// check fails the test unless e holds every acknowledged append where it was
// acknowledged, nothing that was not submitted, no batch in part, none twice, and
// each writer's in order.
func check(t *testing.T, e *engine.Engine, acked [crashWriters][]uint64, submitted [crashWriters]int) (total int) {
	t.Helper()
	var found [crashWriters][]uint64 // positions of the appends that are there
	for s := range crashStreams {
		name := crashStream(s)
		entries := all(t, e, name)
		if len(entries)%crashBatch != 0 {
			t.Fatalf("%s: %d records; a batch is torn", name, len(entries))
		}
		for at := 0; at < len(entries); at += crashBatch {
			w, n, _ := strings.Cut(string(entries[at].Body), "/")
			writer, err := strconv.Atoi(w)
			if err != nil || writer >= crashWriters || crashStream(writer) != name {
				t.Fatalf("%s holds %q", name, entries[at].Body)
			}
			want := crashInput(writer, len(found[writer]))
			for i, r := range want.Records {
				if got := entries[at+i]; string(got.Body) != string(r.Body) || got.Seq != uint64(at+i) {
					t.Fatalf("%s at %d: %.40q; want append %d of writer %d, whole (its number is %.10q)", name, at+i, got.Body, len(found[writer]), writer, n)
				}
			}
			found[writer] = append(found[writer], uint64(at))
		}
	}
	for w := range crashWriters {
		if len(found[w]) > submitted[w] {
			t.Fatalf("writer %d: %d appends, and only %d were submitted", w, len(found[w]), submitted[w])
		}
		for n, seq := range acked[w] {
			if n >= len(found[w]) || found[w][n] != seq {
				t.Fatalf("writer %d: append %d was acknowledged at %d and is not there; it has %d", w, n, seq, len(found[w]))
			}
		}
		total += len(acked[w])
	}
	return total
}

// all reads a whole stream, nil if it is not there, and checks that it is dense.
func all(t *testing.T, e *engine.Engine, name string) (entries []stream.Entry) {
	t.Helper()
	for {
		b, err := e.Read(t.Context(), basin, name, engine.ReadOptions{Start: stream.Start{Seq: uint64(len(entries))}})
		if errors.Is(err, engine.ErrStreamNotFound) || errors.Is(err, engine.ErrBasinNotFound) {
			return nil
		}
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		if entries = append(entries, b.Entries...); b.Next() == b.Tail.Seq {
			return entries
		}
		if len(b.Entries) == 0 {
			t.Fatalf("read %s at %d: nothing, and the tail is %d", name, len(entries), b.Tail.Seq)
		}
	}
}

// Whenever the power fails under load, what was acknowledged is there after the
// next start, and what is there is whole.
func TestPowerCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	total := 0
	for round := range 12 {
		fs := vfs.NewCrashableMem()
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var log ackLog
		var writers sync.WaitGroup
		for w := range crashWriters {
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					log.begin(w)
					ack, err := e.Append(context.WithoutCancel(ctx), basin, crashStream(w), crashInput(w, n))
					if err != nil {
						t.Error(err)
						return
					}
					log.ack(w, ack.Start.Seq)
				}
			})
		}
		for range 3 { // several cuts, each of which somebody may wake up to
			timer := time.NewTimer(time.Duration(rng.Int64N(int64(6 * time.Millisecond))))
			<-timer.C
			acked := log.copy()
			lost := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rand.New(rand.NewPCG(uint64(round), 0))})
			submitted := log.submitted()
			after, err := engine.Open(engine.Options{Dir: "data", FS: lost})
			if err != nil {
				t.Fatalf("round %d: open after the cut: %v", round, err)
			}
			total += check(t, after, acked, submitted)
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		writers.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if total == 0 {
		t.Fatal("no cut came behind an acknowledgement: the test says nothing")
	}
	t.Logf("%d acknowledged appends, all there", total)
}

var childDir = flag.String("child", "", "run TestKill's child on this folder")

// TestChild is not a test: it is the process that TestKill kills.
func TestChild(t *testing.T) {
	if *childDir == "" {
		t.Skip("only TestKill runs it")
	}
	e, err := engine.Open(engine.Options{Dir: *childDir})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	have := count(t, e)
	lines := make(chan string)
	for w := range crashWriters {
		go func() {
			for n := have[w]; ; n++ {
				lines <- fmt.Sprintf("begin %d %d\n", w, n)
				ack, err := e.Append(context.Background(), basin, crashStream(w), crashInput(w, n))
				if err != nil {
					lines <- fmt.Sprintf("error %v\n", err)
					return
				}
				lines <- fmt.Sprintf("ack %d %d\n", w, ack.Start.Seq)
			}
		}()
	}
	for line := range lines {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return
		}
	}
}

// count returns how many appends of each writer are in e.
func count(t *testing.T, e *engine.Engine) (n [crashWriters]int) {
	t.Helper()
	for s := range crashStreams {
		for i, entry := range all(t, e, crashStream(s)) {
			if i%crashBatch == 0 {
				w, _, _ := strings.Cut(string(entry.Body), "/")
				writer, err := strconv.Atoi(w)
				if err != nil {
					t.Fatalf("%q", entry.Body)
				}
				n[writer]++
			}
		}
	}
	return n
}

// A process that is killed under load, again and again on one folder, loses
// nothing that it acknowledged, and writes nothing in part or twice.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var log ackLog
	for round := range 3 {
		// The lines of a process that is killed end somewhere; what is read of them is true.
		out := killed(t, dir, time.Duration(100+70*round)*time.Millisecond)
		for _, line := range out {
			var writer int
			var seq uint64
			switch {
			case strings.HasPrefix(line, "begin "):
				if _, err := fmt.Sscanf(line, "begin %d %d", &writer, &seq); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				log.began[writer] = int(seq) + 2 // the next line may have been lost
			case strings.HasPrefix(line, "ack "):
				if _, err := fmt.Sscanf(line, "ack %d %d", &writer, &seq); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				log.ack(writer, seq)
			default:
				t.Errorf("the child says %q", line)
			}
		}
		e, err := engine.Open(engine.Options{Dir: dir})
		if err != nil {
			t.Fatalf("round %d: open: %v", round, err)
		}
		total := check(t, e, log.acked, log.began)
		// What landed without an acknowledgement counts from here on: the next child goes on behind it.
		for s := range crashStreams {
			seen := map[int]int{}
			for i, entry := range all(t, e, crashStream(s)) {
				w, _, _ := strings.Cut(string(entry.Body), "/")
				writer, _ := strconv.Atoi(w)
				if i%crashBatch != 0 {
					continue
				}
				if seen[writer]++; seen[writer] > len(log.acked[writer]) {
					log.acked[writer] = append(log.acked[writer], uint64(i))
				}
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if total == 0 {
			t.Fatalf("round %d: nothing was acknowledged: the test says nothing", round)
		}
		t.Logf("round %d: %d acknowledged appends, all there", round, total)
	}
}

// killed runs TestChild on dir, kills it after some time, and returns its whole lines.
func killed(t *testing.T, dir string, after time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-child="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	var timer *time.Timer
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		if timer == nil { // it works: the time counts from here
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		lines = append(lines, line)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v\n%s", err, strings.Join(lines, ""))
	}
	return lines
}
