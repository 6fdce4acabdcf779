package chatlog_test

import (
	"fmt"
	"testing"

	"agentchat/shared/chatlog"
	"agentchat/shared/ident"
	"agentchat/shared/stream/localstream"
)

// What a signed message, and a page of a hundred, cost besides the store's disk.
func BenchmarkLog(b *testing.B) {
	s, end := localstream.Memory()
	defer end()
	w, err := setUp(s)
	if err != nil {
		b.Fatal(err)
	}
	c, err := w.claim(alice)
	if err != nil {
		b.Fatal(err)
	}
	at := uint64(3)
	b.Run("Append", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.log.Append(b.Context(), w.chat, alice, message(c.Token, at, ident.Message(fmt.Sprint(at)), "hello")); err != nil {
				b.Fatal(err)
			}
			at++
		}
	})
	b.Run("Transcript", func(b *testing.B) {
		for b.Loop() {
			if p, err := w.log.Transcript(b.Context(), w.chat, alice, chatlog.Query{Limit: 100}); err != nil || len(p.Items) != 100 {
				b.Fatal(len(p.Items), err)
			}
		}
	})
}
