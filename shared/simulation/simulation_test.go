package simulation_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"agentchat/shared/simulation"
)

var (
	seed  = flag.Uint64("sim.seed", 0, "run this seed, with its history")
	seeds = flag.Int("sim.seeds", 200, "how many seeds to run")
	first = flag.Uint64("sim.first", 1, "the first of them")
)

// Whatever the seed, every promise is kept.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		r := simulation.Run(t, simulation.Options{Seed: *seed})
		t.Log("\n" + r.History())
		if len(r.Wrong) > 0 {
			t.Fatal(r)
		}
		t.Log(r)
		return
	}
	n := *seeds
	if testing.Short() {
		n /= 5
	}
	for n := range n {
		s := *first + uint64(n)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Parallel()
			if r := simulation.Run(t, simulation.Options{Seed: s}); len(r.Wrong) > 0 {
				t.Fatal(r)
			}
		})
	}
}

// The same seed is the same world, so that what failed can be looked at again. The
// code under test draws the jitter of its pauses from a source of its own, which
// now and then changes what comes first.
func TestSameSeedSameWorld(t *testing.T) {
	const runs = 20
	same := 0
	for s := uint64(1); s <= runs; s++ {
		a, b := simulation.Run(t, simulation.Options{Seed: s}), simulation.Run(t, simulation.Options{Seed: s})
		a1, b1 := random.ReplaceAllString(a.History(), "$1…"), random.ReplaceAllString(b.History(), "$1…")
		if a1 == b1 {
			same++
		} else {
			t.Logf("seed %d has two histories:\n%s", s, firstDifference(a1, b1))
		}
	}
	if same < runs/2 {
		t.Errorf("%d of %d seeds are the same world again", same, runs)
	}
}

// random is what processes draw: at the same moment, in any order.
var random = regexp.MustCompile(`\b(msg_|[0-9a-f]{16}|fence )\S*`)

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d\n\t%s\n\t%s", i, as[i], bs[i])
		}
	}
	return "one goes on"
}
