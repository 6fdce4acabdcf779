package mailbox_test

import (
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/mailbox"
)

// Sending on the embedded store in memory: what the product adds to an append.
func BenchmarkSend(b *testing.B) {
	say := strings.Repeat("x", 700)
	b.Run("plain", func(b *testing.B) {
		m := newWorld(b).process()
		register(b, m, "alice", "bob")
		b.ReportAllocs()
		for b.Loop() {
			send(b, m, draft("alice", "bob", "", say))
		}
	})
	b.Run("plain, 16 at once", func(b *testing.B) {
		m := newWorld(b).process()
		register(b, m, "alice", "bob")
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				send(b, m, draft("alice", "bob", "", say))
			}
		})
	})
}

// Replay by pages of 1000 messages of 1 KiB, as far as the page before it is written.
func BenchmarkReplay(b *testing.B) {
	const messages = 10_000
	m := newWorld(b).process()
	register(b, m, "alice", "bob")
	for range messages {
		send(b, m, draft("alice", "bob", "", strings.Repeat("x", 700)))
	}
	for _, q := range []mailbox.Query{
		{Agent: "bob", Limit: api.MaxPageItems},
		{Agent: "bob", Limit: api.MaxPageItems, Kind: api.KindReceipt},
		{Agent: "bob", Limit: api.MaxPageItems, ConversationID: "none"},
	} {
		b.Run(string("kind="+q.Kind)+",conversation="+string(q.ConversationID), func(b *testing.B) {
			for b.Loop() {
				for at := uint64(0); at < messages; {
					q.Cursor = &at
					at = replay(b, m, q).NextCursor
				}
			}
			b.ReportMetric(float64(b.N)*messages/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
