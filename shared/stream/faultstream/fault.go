package faultstream

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"agentchat/shared/stream"
)

// A Chooser decides what happens to a call. It is called on the caller's
// goroutine, before the call does anything and with no lock held, so it may
// block: that is where a scheduler parks the processes of a model test. It may
// call Land, LandAll and Restart.
type Chooser func(Call) Fault

// A Call is one call of a method of the Store.
type Call struct {
	N      int // from 0, in the order in which the calls began
	Op     Op
	Name   stream.Name   // zero for List, Watch, Ensure and Check
	Prefix stream.Prefix // of List and Watch
	Batch  stream.Batch  // of Append; it must not be written to
}

// A Fault is what happens to a call. The zero Fault is that nothing does.
type Fault struct {
	Kind  Kind
	After int           // Late: calls that come before it lands (negative: only Land); Cut: what is yielded before
	Delay time.Duration // Slow: how long before the call reaches the store
	Die   bool          // after Kind took effect the calling goroutine ends (runtime.Goexit): the caller never sees the outcome
}

// A Kind is a kind of fault.
type Kind int

// What can happen to a call; Op.Kinds says what to which.
const (
	None    Kind = iota // it goes through
	Refused             // ErrUnavailable; it never reaches the store
	Lost                // ErrUnknown; it never reaches the store
	Stored              // ErrUnknown; it reached the store
	Late                // ErrUnknown; it reaches the store at some later moment
	Slow                // it reaches the store after Delay, if ctx lasts
	Short               // pages of one record, though there are more
	Cut                 // the sequence ends with ErrUnavailable
	Again               // what moved is reported twice
)

// An Op is a method of stream.Store.
type Op int

// The methods of stream.Store.
const (
	Append Op = iota
	Read
	Follow
	Tail
	List
	Watch
	Create
	Delete
	Ensure
	Check
)

// Kinds returns what can happen to op, None first.
func (op Op) Kinds() []Kind {
	switch op {
	case Append, Create, Delete, Ensure:
		return []Kind{None, Refused, Lost, Stored, Late, Slow}
	case Read:
		return []Kind{None, Refused, Slow, Short}
	case Follow:
		return []Kind{None, Refused, Slow, Short, Cut}
	case Watch:
		return []Kind{None, Refused, Slow, Cut, Again}
	case Tail, List, Check:
	}
	return []Kind{None, Refused, Slow}
}

func (op Op) String() string {
	names := []string{"Append", "Read", "Follow", "Tail", "List", "Watch", "Create", "Delete", "Ensure", "Check"}
	if op < 0 || int(op) >= len(names) {
		return "Op(" + strconv.Itoa(int(op)) + ")"
	}
	return names[op]
}

func (k Kind) String() string {
	names := []string{"None", "Refused", "Lost", "Stored", "Late", "Slow", "Short", "Cut", "Again"}
	if k < 0 || int(k) >= len(names) {
		return "Kind(" + strconv.Itoa(int(k)) + ")"
	}
	return names[k]
}

// Seeded returns a Chooser that gives a fault to the given share of calls (0 to
// 1), of any kind that can happen to each. The same seed gives the same faults
// to the same sequence of calls. Late ones land after up to 8 further calls, slow ones
// take up to 20 ms, and a sequence is cut after up to 8 steps.
func Seeded(seed uint64, share float64) Chooser {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 0)) // it has to repeat
	return func(c Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		// Each decision takes as many numbers as any other, so that one call more
		// does not change what happens to the rest.
		hit, kind, after, delay := r.Float64() < share, r.Int(), r.IntN(9), r.IntN(21)
		if !hit {
			return Fault{}
		}
		kinds := c.Op.Kinds()[1:]
		return Fault{Kind: kinds[kind%len(kinds)], After: after, Delay: time.Duration(delay) * time.Millisecond}
	}
}

// Script returns a Chooser that gives the faults in order to the calls of op,
// and none to the calls after them and to other calls.
func Script(op Op, faults ...Fault) Chooser {
	var mu sync.Mutex
	return func(c Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Op != op || len(faults) == 0 {
			return Fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
}
