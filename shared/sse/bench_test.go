package sse_test

import (
	"bytes"
	"fmt"
	"testing"

	"agentchat/shared/sse"
)

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			stream, err := sse.Event{Name: "envelope", ID: "43", Data: bytes.Repeat([]byte("x"), size)}.Append(nil)
			if err != nil {
				b.Fatal(err)
			}
			const events = 8
			stream = bytes.Repeat(stream, events)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := collect(bytes.NewReader(stream), 2<<20); err != nil || len(got) != events {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
