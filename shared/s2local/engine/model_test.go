package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// The model of one stream, for a checker of linearizability: what it holds, and
// its fencing token.
type modelState struct {
	records string // " " before each
	fence   string
}

func (s modelState) tail() uint64 { return uint64(strings.Count(s.records, " ")) }

// A modelCall is one call and what came of it.
type modelCall struct {
	kind    string // "append", "read", "tail"
	records string // appended or read
	fence   string // set by the append if not "", "-" clears it
	at      *uint64
	token   *string

	unknown bool // of an append: nobody was told what came of it
	start   uint64
	tail    uint64
	refused string // the error of a refused append
}

// step returns the states that s may be in after c, none if c can't have
// happened in s.
func step(s modelState, c modelCall) []any {
	switch c.kind {
	case "read":
		if c.records != s.records {
			return nil
		}
		return []any{s}
	case "tail":
		if c.tail != s.tail() {
			return nil
		}
		return []any{s}
	}
	next, refused := s, ""
	switch {
	case c.token != nil && *c.token != s.fence:
		refused = (&stream.FencedError{Token: s.fence}).Error()
	case c.at != nil && *c.at != s.tail():
		refused = (&stream.PositionError{Tail: s.tail()}).Error()
	default:
		next.records += c.records
		if c.fence != "" {
			next.fence = strings.TrimPrefix(c.fence, "-")
		}
	}
	if c.unknown {
		return []any{s, next}
	}
	if refused != c.refused || refused == "" && c.start != s.tail() {
		return nil
	}
	return []any{next}
}

var streamModel = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{modelState{}} },
	Step:  func(s, in, _ any) []any { return step(s.(modelState), in.(modelCall)) },
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(in, _ any) string {
		return fmt.Sprintf("%+v", in)
	},
}

// Appends with and without conditions, fences, reads and tails of concurrent
// clients happen as if one after the other, over power cuts too: what was told
// before one, refusals included, still holds after it.
func TestLinearizable(t *testing.T) {
	for seed := range uint64(60) {
		history := modelHistory(t, seed)
		result := porcupine.CheckOperationsTimeout(streamModel.ToModel(), history, 20*time.Second)
		if result != porcupine.Ok {
			t.Fatalf("seed %d: %d calls: %v; want Ok", seed, len(history), result)
		}
	}
}

// A recorder collects what clients did on one disk until its power is cut.
type recorder struct {
	began time.Time
	mu    sync.Mutex
	calls []porcupine.Operation
	cut   int64 // what ends later was not told to anybody; 0: no cut yet
	dead  int64 // what begins later was on a disk that nobody will see again
}

func (r *recorder) now() int64 { return time.Since(r.began).Nanoseconds() }

// modelHistory lets clients loose on a stream, cuts the power under them twice,
// and returns all that they saw in the life that went on.
func modelHistory(t *testing.T, seed uint64) (history []porcupine.Operation) {
	rng := rand.New(rand.NewPCG(seed, 7))
	fs := vfs.NewCrashableMem()
	began := time.Now()
	for life := range 3 {
		r := &recorder{began: began}
		e, err := engine.Open(engine.Options{Dir: "data", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{CreateOnAppend: true, CreateOnRead: true}); err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for c := range 5 {
			rng := rand.New(rand.NewPCG(seed, uint64(100*life+c)))
			clients.Go(func() {
				for n := range 14 {
					r.call(t, e, rng, c, fmt.Sprintf("%d.%d.%d", life, c, n))
				}
			})
		}
		if life < 2 {
			timer := time.NewTimer(time.Duration(rng.Int64N(int64(1500 * time.Microsecond))))
			<-timer.C
			r.mu.Lock() // nobody is told anything while the power fails
			r.cut = r.now()
			fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
			r.dead = r.now()
			r.mu.Unlock()
		}
		clients.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		history = append(history, r.calls...)
	}
	return history
}

// call makes one call and records what the client of the life that goes on knows of it.
func (r *recorder) call(t *testing.T, e *engine.Engine, rng *rand.Rand, client int, id string) {
	c := modelCall{kind: "append"}
	from := r.now()
	var err error
	switch rng.IntN(10) {
	case 0, 1:
		c.kind = "read"
		var b engine.Batch
		b, err = e.Read(t.Context(), basin, "s", engine.ReadOptions{})
		for _, entry := range b.Entries {
			c.records += " " + string(entry.Body)
		}
	case 2, 3:
		c.kind = "tail"
		var tail stream.Position
		tail, err = e.Tail(t.Context(), basin, "s")
		c.tail = tail.Seq
	default:
		c.records, c.fence = " "+id, ""
		in := input(id)
		if rng.IntN(3) == 0 { // a second record in the batch, so that it can be torn
			in.Records = append(in.Records, stream.Record{Body: []byte(id + "b")})
			c.records += " " + id + "b"
		}
		if rng.IntN(2) == 0 {
			tail, _ := e.Tail(t.Context(), basin, "s")
			c.at = new(tail.Seq + uint64(rng.IntN(2)))
		}
		if rng.IntN(3) == 0 {
			c.token = new([]string{"", "f0", "f1"}[rng.IntN(3)])
		}
		if rng.IntN(6) == 0 {
			c.fence = []string{"-", "f0", "f1"}[rng.IntN(3)]
			r := stream.Fence(strings.TrimPrefix(c.fence, "-"))
			in.Records = append(in.Records, r)
			c.records += " " + string(r.Body)
		}
		in.At, in.Token = c.at, c.token
		from = r.now()
		var ack engine.Ack
		ack, err = e.Append(context.Background(), basin, "s", in)
		c.start = ack.Start.Seq
		if errors.Is(err, stream.ErrFenced) || errors.Is(err, stream.ErrPosition) {
			c.refused, err = err.Error(), nil
		}
	}
	if err != nil {
		t.Errorf("%s: %v", c.kind, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	to := r.now()
	if r.cut != 0 && from >= r.dead {
		return
	}
	if r.cut != 0 {
		if c.kind != "append" {
			return
		}
		c.unknown, to = true, r.dead // it is on the disk that goes on, or never will be
	}
	r.calls = append(r.calls, porcupine.Operation{ClientId: client, Input: c, Call: from, Return: to})
}
