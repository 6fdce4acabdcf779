// Package store is the rough durable-append engine of the reference server. Every
// Append returns only after the record is synced.
package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"agentchat/scripts/bench/group"
)

type Engine interface {
	Append(stream uint32, body []byte) (uint64, error)
	// Read calls f for up to limit records of stream from seq on.
	Read(stream uint32, from uint64, limit int, f func(seq uint64, body []byte) error) (int, error)
	Tail(stream uint32) uint64 // next sequence number
	Close() error
}

func Open(name, dir string) (Engine, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if name == "pebble-gc" {
		return openPebble(dir)
	}
	return nil, fmt.Errorf("unknown engine %q", name)
}

type app struct {
	stream uint32
	body   []byte
	seq    *uint64
}

type committer interface {
	Do(app) error
	Close()
}

type tails struct {
	mu sync.Mutex
	m  map[uint32]uint64
}

func (t *tails) next(s uint32) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.m[s]
	t.m[s] = n + 1
	return n
}

func (t *tails) get(s uint32) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.m[s]
}

func key(s uint32, seq uint64) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint32(b, s)
	binary.BigEndian.PutUint64(b[4:], seq)
	return b
}

type reqs = []*group.Req[app]
