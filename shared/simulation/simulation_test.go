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
	seed  = flag.Uint64("sim.seed", 0, "run this seed, up to 20 times until it fails, with its history")
	seeds = flag.Int("sim.seeds", 200, "how many seeds to run")
	first = flag.Uint64("sim.first", 1, "the first of them")
)

// Whatever the seed, every promise is kept.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		var r *simulation.Report
		for range 20 { // not all that happens is the seed's
			if r = simulation.Run(t, simulation.Options{Seed: *seed}); len(r.Wrong) > 0 {
				break
			}
		}
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

// The same seed makes the same world, so that what failed can be looked at again.
// It does so for a long while, not for ever: the jitter of pauses, and which of a
// process's reads at once comes first, are not the seed's.
func TestSameSeedSameWorld(t *testing.T) {
	const runs, lines = 12, 50
	same := 0
	for s := uint64(1); s <= runs; s++ {
		a, b := simulation.Run(t, simulation.Options{Seed: s}), simulation.Run(t, simulation.Options{Seed: s})
		at := firstDifference(random.ReplaceAllString(a.History(), "$1…"), random.ReplaceAllString(b.History(), "$1…"))
		t.Logf("seed %d: the same for %d lines", s, at)
		if at >= lines {
			same++
		}
	}
	if same < runs/2 {
		t.Errorf("%d of %d seeds make the same world for %d lines", same, runs, lines)
	}
}

// random is what processes draw: at the same moment, in any order.
var random = regexp.MustCompile(`\b(msg_|[0-9a-f]{16}|fence )\S*`)

// firstDifference returns how many lines two texts have in common at their beginning.
func firstDifference(a, b string) int {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return i
		}
	}
	return min(len(as), len(bs))
}
