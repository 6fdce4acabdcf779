package s2stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

const listPage = 1000 // names that S2 lists at a time

// List implements stream.Store.
func (s *Store) List(ctx context.Context, prefix stream.Prefix, after stream.Name, limit int) (names []stream.Name, more bool, err error) {
	args := &s2.ListStreamsArgs{Prefix: prefix.String(), Limit: s2.Ptr(bound(limit, listPage))}
	if after.String() >= prefix.String() { // S2 takes nothing that comes before the prefix
		args.StartAfter = after.String()
	}
	for {
		page, err := call(ctx, s, reads, "list "+prefix.String(), func(ctx context.Context) (*s2.ListStreamsResponse, error) {
			page, err := s.streams(prefix.Basin()).List(ctx, args)
			if err == nil && page.Streams == nil {
				err = fmt.Errorf("%w: no streams in it", errForeign)
			}
			return page, err
		})
		if err != nil {
			return nil, false, err
		}
		for _, info := range page.Streams {
			if name, ok := prefix.Name(string(info.Name)); ok && info.DeletedAt == nil {
				names = append(names, name)
			}
		}
		if !page.HasMore || len(page.Streams) == 0 {
			return names, false, nil
		}
		if len(names) > 0 { // else a page of nothing but deleted ones, from which the caller could not go on
			return names, true, nil
		}
		args.StartAfter = string(page.Streams[len(page.Streams)-1].Name)
	}
}

// Create implements stream.Store.
func (s *Store) Create(ctx context.Context, name stream.Name, c stream.Config) error {
	_, err := call(ctx, s, writes, "create "+name.String(), func(ctx context.Context) (*s2.StreamInfo, error) {
		info, err := s.streams(name.Basin()).Create(ctx, s2.CreateStreamArgs{Stream: s2.StreamName(name.String()), Config: config(c)})
		if err == nil && string(info.Name) != name.String() {
			err = fmt.Errorf("%w: the stream %q in it", errForeign, info.Name)
		}
		return info, err
	})
	if err == nil {
		s.moved(stream.Moved{Name: name})
	}
	return err
}

// Delete implements stream.Store. Deleting a stream whose deletion is under way may succeed.
func (s *Store) Delete(ctx context.Context, name stream.Name) error {
	_, err := call(ctx, s, writes, "delete "+name.String(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.streams(name.Basin()).Delete(ctx, s2.StreamName(name.String()))
	})
	return err
}

// Ensure implements stream.Store. It makes the basins that are missing, and
// changes in the others only what is not as Basin.Config says: S2's own ensure
// would reset what an operator chose besides, such as the storage class.
func (s *Store) Ensure(ctx context.Context) error {
	for _, b := range []stream.Basin{stream.Main, stream.Ops} {
		if err := s.ensure(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) ensure(ctx context.Context, b stream.Basin) error {
	name, want := s.basin(b), b.Config()
	got, err := s.config(ctx, b)
	if errors.Is(err, errNoBasin) {
		_, err = call(ctx, s, writes, fmt.Sprintf("create basin %s", name), func(ctx context.Context) (*s2.BasinInfo, error) {
			return s.client.Basins.Create(ctx, s2.CreateBasinArgs{Basin: name, Config: &s2.BasinConfig{
				CreateStreamOnAppend: s2.Bool(want.CreateOnAppend),
				CreateStreamOnRead:   s2.Bool(false),
				DefaultStreamConfig:  config(want.Default),
			}})
		})
		if !errors.Is(err, stream.ErrExists) {
			return err
		}
		got, err = s.config(ctx, b) // another process was faster
	}
	if err != nil || difference(want, got) == "" {
		return err
	}
	defaults := config(want.Default)
	got, err = call(ctx, s, writes, fmt.Sprintf("configure basin %s", name), func(ctx context.Context) (*s2.BasinConfig, error) {
		return s.client.Basins.Reconfigure(ctx, s2.ReconfigureBasinArgs{Basin: name, Config: s2.BasinReconfiguration{
			CreateStreamOnAppend: s2.Bool(want.CreateOnAppend),
			CreateStreamOnRead:   s2.Bool(false),
			DefaultStreamConfig: &s2.StreamReconfiguration{
				RetentionPolicy: defaults.RetentionPolicy,
				DeleteOnEmpty:   &s2.DeleteOnEmptyReconfiguration{MinAgeSecs: defaults.DeleteOnEmpty.MinAgeSecs},
			},
		}})
	})
	if err != nil {
		return err
	}
	if d := difference(want, got); d != "" {
		return fmt.Errorf("configure basin %s: %w: %s", name, stream.ErrUnknown, d)
	}
	return nil
}

// Check implements stream.Store.
func (s *Store) Check(ctx context.Context) error {
	for _, b := range []stream.Basin{stream.Main, stream.Ops} {
		got, err := s.config(ctx, b)
		if err != nil {
			return err
		}
		if d := difference(b.Config(), got); d != "" {
			return fmt.Errorf("basin %s: %s", s.basin(b), d)
		}
	}
	return nil
}

// errNoBasin says that a basin is missing: unavailable to all but Ensure.
var errNoBasin = fmt.Errorf("%w: no such basin", stream.ErrUnavailable)

func (s *Store) config(ctx context.Context, b stream.Basin) (*s2.BasinConfig, error) {
	missing := false
	c, err := call(ctx, s, reads, fmt.Sprintf("configuration of basin %s", s.basin(b)), func(ctx context.Context) (*s2.BasinConfig, error) {
		c, err := s.client.Basins.GetConfig(ctx, s.basin(b))
		var api *s2.S2Error
		missing = errors.As(err, &api) && api.Status == 404 && api.Code == "basin_not_found"
		return c, err
	})
	if missing {
		return nil, fmt.Errorf("basin %s: %w", s.basin(b), errNoBasin)
	}
	return c, err
}

// s2Retention is S2's own, where nothing is configured.
const s2Retention = 7 * 24 * time.Hour

// difference returns what is not as it must be in words, or "".
func difference(want stream.BasinConfig, got *s2.BasinConfig) string {
	onAppend := got.CreateStreamOnAppend != nil && *got.CreateStreamOnAppend
	onRead := got.CreateStreamOnRead != nil && *got.CreateStreamOnRead
	retention, deleteOnEmpty := s2Retention, time.Duration(0)
	if d := got.DefaultStreamConfig; d != nil {
		if p := d.RetentionPolicy; p != nil && p.Infinite != nil {
			retention = 0
		} else if p != nil && p.Age != nil {
			retention = time.Duration(*p.Age) * time.Second
		}
		if d.DeleteOnEmpty != nil && d.DeleteOnEmpty.MinAgeSecs != nil {
			deleteOnEmpty = time.Duration(*d.DeleteOnEmpty.MinAgeSecs) * time.Second
		}
	}
	switch {
	case onAppend != want.CreateOnAppend:
		return fmt.Sprintf("creates streams on append: %t, not %t", onAppend, want.CreateOnAppend)
	case onRead:
		return "creates streams on read: true, not false"
	case retention != want.Default.Retention:
		return fmt.Sprintf("keeps records for %s, not %s (0s: for ever)", retention, want.Default.Retention)
	case deleteOnEmpty != want.Default.DeleteOnEmpty:
		return fmt.Sprintf("deletes empty streams after %s, not %s (0s: never)", deleteOnEmpty, want.Default.DeleteOnEmpty)
	}
	return ""
}

// config returns c with nothing left to the basin's or S2's defaults.
func config(c stream.Config) *s2.StreamConfig {
	retention := &s2.RetentionPolicy{Infinite: &s2.InfiniteRetention{}}
	if c.Retention != 0 {
		retention = &s2.RetentionPolicy{Age: s2.Int64(seconds(c.Retention))}
	}
	return &s2.StreamConfig{
		RetentionPolicy: retention,
		DeleteOnEmpty:   &s2.DeleteOnEmptyConfig{MinAgeSecs: s2.Int64(seconds(c.DeleteOnEmpty))},
	}
}

// seconds rounds up: nothing goes earlier than was asked for.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
