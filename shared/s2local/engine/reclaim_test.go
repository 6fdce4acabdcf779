package engine_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// What is deleted or trimmed gives its room on the disk back.
func TestRoomIsGivenBack(t *testing.T) {
	const each = 48 << 10 // records of 1 KiB
	fs := vfs.NewMem()
	e := open(t, engine.Options{Dir: "data", FS: fs})
	for _, name := range []string{"s", "t", "kept"} {
		create(t, e, name)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range each / 64 {
		in := engine.Input{}
		for range 64 {
			body := make([]byte, 1<<10)
			for i := range body {
				body[i] = byte(rng.Uint32())
			}
			in.Records = append(in.Records, stream.Record{Body: body})
		}
		add(t, e, "s", in)
		add(t, e, "t", in)
	}
	room := func() (n int64) {
		for _, suffix := range []string{".sst", ".blob"} {
			for _, size := range sizes(t, fs, suffix) {
				n += size
			}
		}
		return n
	}
	full := room()
	if full < each<<10 {
		t.Fatalf("%d bytes in tables and blobs; want more than %d", full, each<<10)
	}
	if err := e.DeleteStream(t.Context(), basin, "s"); err != nil {
		t.Fatal(err)
	}
	add(t, e, "t", command(stream.Trim(each)))
	for begun := time.Now(); room() > full/3; {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%d bytes of %d are still there", room(), full)
		}
		fill(t, e, "kept", 4<<10, 64) // the tombstones are written out with what comes next
	}
}
