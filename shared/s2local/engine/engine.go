// Package engine is the embedded store: S2's semantics on Pebble, one committer
// for all streams, group commit. localstream calls it directly; s2local/wire
// serves it as the S2 API.
package engine

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"agentchat/shared/stream"
)

// Options are what an engine is opened with.
type Options struct {
	Dir    string           // the data folder; made if it is missing, locked while open
	Memory bool             // keep nothing: Dir is not used
	FS     vfs.FS           // nil: the operating system's, or a new one in memory; crash tests bring their own
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default
}

// An Engine keeps basins and streams.
type Engine struct{}

// Record is a record to append; a nil Timestamp is the time of arrival.
type Record struct {
	Timestamp *uint64
	Headers   []stream.Header
	Body      []byte
}

// Input is one atomic append.
type Input struct {
	Records []Record
	At      *uint64
	Token   *string
}

// Ack is S2's AppendAck: Start is the first record's position, End the position
// behind the last (with its timestamp), Tail the durable tail, not before End.
type Ack struct{ Start, End, Tail stream.Position }

// Pending is an append that was submitted; Wait returns its outcome.
type Pending struct{}

// Open, Close, Submit, Append, Read, Follow, Tail, Watch and the calls for
// basins and streams follow S2's specification.

func Open(o Options) (*Engine, error) { panic("unwritten") }
func (e *Engine) Close() error        { panic("unwritten") }

// Submit queues in behind what was submitted before it from the same goroutine.
func (e *Engine) Submit(basin, name string, in Input) *Pending { panic("unwritten") }
func (p *Pending) Wait(ctx context.Context) (Ack, error)       { panic("unwritten") }
func (e *Engine) Append(ctx context.Context, basin, name string, in Input) (Ack, error) {
	return e.Submit(basin, name, in).Wait(ctx)
}
func (e *Engine) Tail(ctx context.Context, basin, name string) (stream.Position, error) {
	panic("unwritten")
}

// ReadOptions are S2's read parameters, resolved by the caller to a position or a time.
type ReadOptions struct {
	Start   stream.Start
	Records int    // 0: 1000
	Bytes   int    // metered; 0: 1 MiB
	Until   uint64 // exclusive timestamp; 0: none
}

// Read returns one batch of durable entries, empty at the tail, with the durable
// tail and the first retained position. It does not wait.
func (e *Engine) Read(ctx context.Context, basin, name string, o ReadOptions) (Batch, error) {
	panic("unwritten")
}

// Batch is a run of entries as S2 reads them.
type Batch struct {
	Entries []stream.Entry
	Tail    stream.Position
	First   uint64 // first retained
}

// Changed returns a channel that is closed when the stream's durable tail moves
// past seq, when the stream is deleted, or when the engine closes.
func (e *Engine) Changed(basin, name string, seq uint64) (<-chan struct{}, error) { panic("unwritten") }

// Watch yields moved streams of a basin by name and tail, see stream.Store.Watch.
func (e *Engine) Watch(ctx context.Context, basin, prefix string) iter.Seq2[[]Moved, error] {
	panic("unwritten")
}

// Moved is a stream and its new tail.
type Moved struct {
	Name string
	Tail uint64
}

// RetentionPolicy, Timestamping, DeleteOnEmpty: S2's stream configuration. A nil
// member is unset and falls to the basin's default, then to S2's own (express,
// 7 days, client-prefer, capped, never).
type StreamConfig struct {
	StorageClass     *string        // "standard", "express"
	RetentionAge     *time.Duration // 0: infinite
	TimestampMode    *string        // "client-prefer", "client-require", "arrival"
	Uncapped         *bool
	DeleteOnEmptyAge *time.Duration // 0: never
}

// BasinConfig is S2's basin configuration.
type BasinConfig struct {
	Default        StreamConfig
	StreamCipher   *string
	CreateOnAppend bool
	CreateOnRead   bool
}

// Info describes a basin or a stream.
type Info struct {
	Name      string
	CreatedAt time.Time
	DeletedAt *time.Time
	Cipher    *string
}

// Provision says what a create or an ensure did.
type Provision int

// The provisions.
const (
	Created Provision = iota
	Updated
	Noop
)

func (e *Engine) CreateBasin(ctx context.Context, name string, c BasinConfig, requestToken string) (Info, Provision, error) {
	panic("unwritten")
}
func (e *Engine) EnsureBasin(ctx context.Context, name string, c BasinConfig) (Info, Provision, error) {
	panic("unwritten")
}
func (e *Engine) DeleteBasin(ctx context.Context, name string) error { panic("unwritten") }
func (e *Engine) BasinConfig(ctx context.Context, name string) (BasinConfig, error) {
	panic("unwritten")
}
func (e *Engine) ReconfigureBasin(ctx context.Context, name string, change func(*BasinConfig)) (BasinConfig, error) {
	panic("unwritten")
}
func (e *Engine) ListBasins(ctx context.Context, prefix, after string, limit int) ([]Info, bool, error) {
	panic("unwritten")
}
func (e *Engine) CreateStream(ctx context.Context, basin, name string, c StreamConfig, requestToken string) (Info, Provision, error) {
	panic("unwritten")
}
func (e *Engine) EnsureStream(ctx context.Context, basin, name string, c StreamConfig) (Info, Provision, error) {
	panic("unwritten")
}
func (e *Engine) DeleteStream(ctx context.Context, basin, name string) error { panic("unwritten") }

// StreamConfig returns the resolved configuration: no member is nil.
func (e *Engine) StreamConfig(ctx context.Context, basin, name string) (StreamConfig, error) {
	panic("unwritten")
}
func (e *Engine) ReconfigureStream(ctx context.Context, basin, name string, change func(*StreamConfig)) (StreamConfig, error) {
	panic("unwritten")
}
func (e *Engine) ListStreams(ctx context.Context, basin, prefix, after string, limit int) ([]Info, bool, error) {
	panic("unwritten")
}
