package store

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"agentchat/scripts/bench/group"
)

// pebbleStore keeps key stream|seq -> body. One committer builds one synced batch per
// group, so log order is sequence order.
type pebbleStore struct {
	db *pebble.DB
	c  committer
	t  tails
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(f string, a ...any) {
	panic(f)
}

func openPebble(dir string) (*pebbleStore, error) {
	cache := pebble.NewCache(64 << 20)
	defer cache.Unref()
	db, err := pebble.Open(dir, &pebble.Options{
		Cache:                       cache,
		MemTableSize:                32 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		Logger:                      quiet{},
		FormatMajorVersion:          pebble.FormatNewest,
	})
	if err != nil {
		return nil, err
	}
	p := &pebbleStore{db: db, t: tails{m: map[uint32]uint64{}}}
	// Find every stream's tail by seeking to the end of each.
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; {
		s := binary.BigEndian.Uint32(it.Key())
		ok = it.SeekLT(key(s+1, 0))
		if ok {
			p.t.m[s] = binary.BigEndian.Uint64(it.Key()[4:]) + 1
		}
		ok = it.SeekGE(key(s+1, 0))
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	p.c = group.New(4096, func(rs reqs) error {
		b := db.NewBatchWithSize(len(rs) * 1100)
		for _, r := range rs {
			*r.V.seq = p.t.next(r.V.stream)
			if err := b.Set(key(r.V.stream, *r.V.seq), r.V.body, nil); err != nil {
				return err
			}
		}
		if err := b.Commit(pebble.Sync); err != nil {
			return err
		}
		return b.Close()
	})
	return p, nil
}

func (p *pebbleStore) Append(s uint32, body []byte) (seq uint64, err error) {
	err = p.c.Do(app{s, body, &seq})
	return seq, err
}

func (p *pebbleStore) Tail(s uint32) uint64 { return p.t.get(s) }

func (p *pebbleStore) Read(s uint32, from uint64, limit int, f func(uint64, []byte) error) (int, error) {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: key(s, from), UpperBound: key(s+1, 0)})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	n := 0
	for ok := it.First(); ok && n < limit; ok = it.Next() {
		if err := f(binary.BigEndian.Uint64(it.Key()[4:]), it.Value()); err != nil {
			return n, err
		}
		n++
	}
	return n, it.Error()
}

func (p *pebbleStore) Close() error {
	p.c.Close()
	return p.db.Close()
}
