package wire

import (
	"net/url"
	"strconv"
	"time"

	"agentchat/shared/stream"
)

// A readQuery is where a read begins and ends, as the client gave it. At most
// one of the starts is set; none is the tail.
type readQuery struct {
	seq, timestamp, offset *uint64
	clamp                  bool // a start behind the tail is the tail, not an error
	count, bytes, until    *uint64
	wait                   *time.Duration
}

// maxWait bounds what fits a duration; nobody waits for 10 years.
const maxWait = 10 * 365 * 24 * time.Hour

func parseRead(raw string) (readQuery, error) {
	p, err := parseParams(raw)
	if err != nil {
		return readQuery{}, err
	}
	q := readQuery{
		seq: p.number("seq_num"), timestamp: p.number("timestamp"), offset: p.number("tail_offset"),
		count: p.number("count"), bytes: p.number("bytes"), until: p.number("until"),
		clamp: p.boolean("clamp"),
	}
	if secs := p.number("wait"); secs != nil {
		d := maxWait
		if *secs < uint64(maxWait/time.Second) {
			d = time.Duration(*secs) * time.Second // below maxWait
		}
		q.wait = &d
	}
	if p.err != nil {
		return readQuery{}, p.err
	}
	starts := 0
	for _, s := range []*uint64{q.seq, q.timestamp, q.offset} {
		if s != nil {
			starts++
		}
	}
	if starts > 1 {
		return readQuery{}, faultf(invalid, "only one of seq_num, timestamp and tail_offset can be given")
	}
	return q, nil
}

// unary bounds q as an answer in one piece must be.
func (q readQuery) unary() readQuery {
	bound := func(n *uint64, limit uint64) *uint64 {
		if n != nil {
			limit = min(limit, *n)
		}
		return &limit
	}
	q.count = bound(q.count, stream.MaxPageRecords)
	q.bytes = bound(q.bytes, stream.MaxPageBytes)
	if q.wait != nil {
		d := min(*q.wait, time.Minute)
		q.wait = &d
	}
	return q
}

func (q readQuery) follows() bool {
	if q.wait != nil {
		return *q.wait > 0
	}
	return q.count == nil && q.bytes == nil && q.until == nil
}

// A listQuery selects a page of names.
type listQuery struct {
	prefix, after string
	limit         int
}

const maxList = 1000

func parseList(raw string) (listQuery, error) {
	p, err := parseParams(raw)
	if err != nil {
		return listQuery{}, err
	}
	q := listQuery{prefix: p.values.Get("prefix"), after: p.values.Get("start_after"), limit: maxList}
	if n := p.number("limit"); n != nil && *n > 0 && *n < maxList {
		q.limit = int(*n) // below maxList
	}
	return q, p.err
}

// params keeps the first error, so that a query is parsed in one expression.
type params struct {
	values url.Values
	err    error
}

// parseParams lets unknown parameters be, as S2 does, but none twice.
func parseParams(raw string) (*params, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, faultf(badQuery, "%v", err)
	}
	for name, v := range values {
		if len(v) > 1 {
			return nil, faultf(badQuery, "parameter %q is given %d times", name, len(v))
		}
	}
	return &params{values: values}, nil
}

func (p *params) number(name string) *uint64 {
	if !p.values.Has(name) {
		return nil
	}
	n, err := strconv.ParseUint(p.values.Get(name), 10, 64)
	if err != nil {
		p.fail(name, "a whole number from 0 to 18446744073709551615")
		return nil
	}
	return &n
}

func (p *params) boolean(name string) bool {
	switch p.values.Get(name) {
	case "true":
		return true
	case "false":
		return false
	}
	if p.values.Has(name) {
		p.fail(name, "true or false")
	}
	return false
}

func (p *params) fail(name, want string) {
	if p.err == nil {
		p.err = faultf(badQuery, "parameter %q is %q, not %s", name, p.values.Get(name), want)
	}
}
