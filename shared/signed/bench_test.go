package signed_test

import (
	"strings"
	"testing"
	"time"

	"agentchat/shared/signed"
)

func BenchmarkSign(b *testing.B) {
	k, err := signed.NewKey(signed.ES256, noon, noon)
	if err != nil {
		b.Fatal(err)
	}
	d := draft(strings.Repeat("x", 1024))
	for b.Loop() {
		m, err := signed.Sign(k, d)
		if err != nil {
			b.Fatal(err)
		}
		r := signed.Record{ChatID: chat, AuthorAgentID: "alice", OperationID: signed.MessageOperation(chat, "alice", "m1"), AuthoredWith: signed.AgentKey, Message: m}
		if _, err := r.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	set, keys := readVectors(b)
	body := []byte(set.Vectors[0].Record)
	for b.Loop() {
		if _, err := signed.Open(keys, body, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}
