//go:build !race

package engine_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
)

// A large record that a read has no room for is not copied. (Where races are looked
// for, Pebble copies each value that it shows.)
func TestReadLeavesLargeOnes(t *testing.T) {
	o := engine.Options{Dir: "data", FS: vfs.NewMem()}
	e := open(t, o)
	create(t, e, "large")
	add(t, e, "large", input("small"))
	add(t, e, "large", input(strings.Repeat("x", 500<<10)))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, o).Stream(t.Context(), basin, "large") // from the disk
	if err != nil {
		t.Fatal(err)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	begin := mem.TotalAlloc
	for range 20 {
		if b, err := s.Read(engine.ReadOptions{Bytes: 300}); err != nil || len(b.Entries) != 1 {
			t.Fatalf("Read: %d entries, %v; want the small one", len(b.Entries), err)
		}
	}
	runtime.ReadMemStats(&mem)
	if got := (mem.TotalAlloc - begin) / 20; got > 100<<10 {
		t.Errorf("a read of a small record in front of a large one allocates %d bytes", got)
	}
}
