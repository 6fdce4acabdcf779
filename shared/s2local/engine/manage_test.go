package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"agentchat/shared/s2local/engine"
)

// A create may be repeated with its token, a restart later too; anything else
// that creates a stream that is there is refused.
func TestCreateStream(t *testing.T) {
	o := engine.Options{Dir: "data", FS: vfs.NewMem()}
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.CreateBasin(t.Context(), basin, engine.BasinConfig{}, "b"); err != nil {
		t.Fatal(err)
	}
	day := engine.StreamConfig{RetentionAge: new(24 * time.Hour)}
	made, provision, err := e.CreateStream(t.Context(), basin, "s", day, "one")
	if err != nil || provision != engine.Created || made.Name != "s" || made.CreatedAt.IsZero() {
		t.Fatalf("create: %+v, %v, %v; want it created", made, provision, err)
	}
	rows := []struct {
		name   string
		config engine.StreamConfig
		token  string
		ok     bool
	}{
		{name: "the same", config: day, token: "one", ok: true},
		{name: "another token", config: day, token: "two"},
		{name: "no token", config: day},
		{name: "another configuration", token: "one"},
	}
	for range 2 {
		for _, row := range rows {
			info, provision, err := e.CreateStream(t.Context(), basin, "s", row.config, row.token)
			if row.ok && (err != nil || provision != engine.Noop || info != made) {
				t.Errorf("%s: %+v, %v, %v; want a noop and %+v", row.name, info, provision, err, made)
			}
			if !row.ok && !errors.Is(err, engine.ErrExists) {
				t.Errorf("%s: err = %v; want ErrExists", row.name, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = engine.Open(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// A configuration is the stream's own, else its basin's default, else S2's,
// member by member, as of the time it was set.
func TestStreamConfig(t *testing.T) {
	e := open(t, engine.Options{Memory: true})
	if _, _, err := e.EnsureBasin(t.Context(), basin, engine.BasinConfig{Default: engine.StreamConfig{
		RetentionAge: new(time.Hour), TimestampMode: new(engine.Arrival),
	}}); err != nil {
		t.Fatal(err)
	}
	want := engine.StreamConfig{
		StorageClass: new("express"), RetentionAge: new(time.Hour), TimestampMode: new(engine.ClientRequire),
		Uncapped: new(false), DeleteOnEmptyAge: new(time.Duration(0)),
	}
	same := func(what string) {
		t.Helper()
		got, err := e.StreamConfig(t.Context(), basin, "s")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: err = %v (-want +got):\n%s", what, err, diff)
		}
	}
	given := engine.StreamConfig{TimestampMode: new(engine.ClientRequire)}
	for _, wanted := range []engine.Provision{engine.Created, engine.Noop} {
		if _, got, err := e.EnsureStream(t.Context(), basin, "s", given); err != nil || got != wanted {
			t.Errorf("ensure: %v, %v; want %v", got, err, wanted)
		}
		same("ensured")
	}
	if _, err := e.ReconfigureBasin(t.Context(), basin, func(c *engine.BasinConfig) { c.Default.RetentionAge = new(2 * time.Hour) }); err != nil {
		t.Fatal(err)
	}
	same("after the basin's default changed")
	if _, err := e.ReconfigureStream(t.Context(), basin, "s", func(c *engine.StreamConfig) {
		c.Uncapped, c.RetentionAge, c.TimestampMode = new(true), nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	want.Uncapped, want.RetentionAge, want.TimestampMode = new(true), new(2*time.Hour), new(engine.Arrival)
	same("reconfigured")
	bad := func(c *engine.StreamConfig) { c.RetentionAge = new(-time.Second) }
	if _, err := e.ReconfigureStream(t.Context(), basin, "s", bad); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("reconfigure to a negative age: err = %v; want ErrInvalid", err)
	}
	same("after a refused change")
	if _, got, err := e.EnsureStream(t.Context(), basin, "s", engine.StreamConfig{}); err != nil || got != engine.Updated {
		t.Errorf("ensure: %v, %v; want Updated", got, err)
	}
	want.Uncapped = new(false)
	same("ensured again")
}

// Streams appear by append or read only where their basin says so, of its default.
func TestAutoCreate(t *testing.T) {
	e := open(t, engine.Options{Memory: true})
	rows := []struct {
		basin string
		on    engine.BasinConfig
	}{
		{basin: "on-neither", on: engine.BasinConfig{}},
		{basin: "on-append", on: engine.BasinConfig{CreateOnAppend: true}},
		{basin: "on-the-read", on: engine.BasinConfig{CreateOnRead: true}},
	}
	for _, row := range rows {
		row.on.Default.RetentionAge = new(time.Minute)
		if _, _, err := e.EnsureBasin(t.Context(), row.basin, row.on); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "<nil>", false: engine.ErrStreamNotFound.Error() + ": "}
		_, err := e.Append(t.Context(), row.basin, "a", input("x"))
		if want := want[row.on.CreateOnAppend]; !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s: append: err = %v; want %s", row.basin, err, want)
		}
		for _, name := range []string{"t", "r", "a"} {
			if name == "t" {
				_, err = e.Tail(t.Context(), row.basin, name)
			} else {
				_, err = e.Read(t.Context(), row.basin, name, engine.ReadOptions{})
			}
			if want := want[row.on.CreateOnRead || name == "a" && row.on.CreateOnAppend]; !strings.HasPrefix(fmt.Sprint(err), want) {
				t.Errorf("%s: read of %s: err = %v; want %s", row.basin, name, err, want)
			}
		}
		if c, err := e.StreamConfig(t.Context(), row.basin, "a"); err == nil && *c.RetentionAge != time.Minute {
			t.Errorf("%s: retention %v; want the basin's default", row.basin, *c.RetentionAge)
		}
	}
	if _, err := e.Append(t.Context(), "no-such-basin", "s", input("x")); !errors.Is(err, engine.ErrBasinNotFound) {
		t.Errorf("append to no basin: err = %v; want ErrBasinNotFound", err)
	}
}

// Names are listed in bytewise order, by prefix, from behind any name.
func TestListStreams(t *testing.T) {
	e := open(t, engine.Options{Memory: true})
	names := []string{"a", "a\x00", "a/", "a/b", "a/b/c", "a0", "b", "é", "\U0010ffff"}
	for i := range 1500 {
		names = append(names, fmt.Sprintf("n/%04d", i))
	}
	other := "other-basin"
	if _, _, err := e.EnsureBasin(t.Context(), other, engine.BasinConfig{CreateOnAppend: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Append(t.Context(), other, "a/other", input("x")); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		create(t, e, n)
	}
	slices.Sort(names)
	rows := []struct {
		name, prefix, after string
		limit               int
	}{
		{name: "all"},
		{name: "by prefix", prefix: "a/"},
		{name: "by prefix of another's", prefix: "a\x00"},
		{name: "behind", after: "a/b"},
		{name: "behind what is not there", after: "a/bb"},
		{name: "behind, before the prefix", prefix: "b", after: "a"},
		{name: "behind, after the prefix", prefix: "a", after: "b"},
		{name: "behind, within the prefix", prefix: "n/", after: "n/0998"},
		{name: "one", limit: 1},
		{name: "too many", prefix: "n/", limit: 5000},
		{name: "exactly", prefix: "a/", limit: 3},
		{name: "nothing", prefix: "zzz"},
	}
	for _, row := range rows {
		var want []string
		for _, n := range names {
			if strings.HasPrefix(n, row.prefix) && n > row.after {
				want = append(want, n)
			}
		}
		limit := row.limit
		if limit == 0 || limit > 1000 {
			limit = 1000
		}
		wantMore := len(want) > limit
		want = want[:min(limit, len(want))]
		list, more, err := e.ListStreams(t.Context(), basin, row.prefix, row.after, row.limit)
		if err != nil || more != wantMore {
			t.Errorf("%s: more = %t, err = %v; want %t", row.name, more, err, wantMore)
		}
		var got []string
		for _, info := range list {
			got = append(got, info.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// A basin that is deleted is gone with everything in it, and its name begins anew.
func TestBasins(t *testing.T) {
	o := engine.Options{Dir: "data", FS: vfs.NewMem()}
	e, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	on := engine.BasinConfig{CreateOnAppend: true}
	for _, name := range []string{"basin-one", "basin-two"} {
		if _, got, err := e.CreateBasin(t.Context(), name, on, "token"); err != nil || got != engine.Created {
			t.Fatalf("create %s: %v, %v", name, got, err)
		}
		if _, got, err := e.CreateBasin(t.Context(), name, on, "token"); err != nil || got != engine.Noop {
			t.Errorf("create %s again: %v, %v; want a noop", name, got, err)
		}
		if _, _, err := e.CreateBasin(t.Context(), name, on, ""); !errors.Is(err, engine.ErrExists) {
			t.Errorf("create %s without the token: err = %v; want ErrExists", name, err)
		}
		if _, err := e.Append(t.Context(), name, "s", input(name)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := e.Stream(t.Context(), "basin-one", "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.DeleteBasin(t.Context(), "basin-one"); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Tail(); !errors.Is(err, engine.ErrDeleted) {
		t.Errorf("tail of what was held: err = %v; want ErrDeleted", err)
	}
	if err := e.DeleteBasin(t.Context(), "basin-one"); !errors.Is(err, engine.ErrBasinNotFound) {
		t.Errorf("delete again: err = %v; want ErrBasinNotFound", err)
	}
	if _, err := e.Append(t.Context(), "basin-one", "s", input("x")); !errors.Is(err, engine.ErrBasinNotFound) {
		t.Errorf("append: err = %v; want ErrBasinNotFound", err)
	}
	if _, got, err := e.EnsureBasin(t.Context(), "basin-one", engine.BasinConfig{}); err != nil || got != engine.Created {
		t.Errorf("ensure: %v, %v; want it created", got, err)
	}
	if _, got, err := e.EnsureBasin(t.Context(), "basin-one", on); err != nil || got != engine.Updated {
		t.Errorf("ensure: %v, %v; want it updated", got, err)
	}
	if _, got, err := e.EnsureBasin(t.Context(), "basin-one", on); err != nil || got != engine.Noop {
		t.Errorf("ensure: %v, %v; want a noop", got, err)
	}
	for range 2 {
		list, more, err := e.ListBasins(t.Context(), "basin-", "", 1)
		if err != nil || !more || len(list) != 1 || list[0].Name != "basin-one" {
			t.Errorf("list: %v, %t, %v; want basin-one, and more", list, more, err)
		}
		list, more, err = e.ListBasins(t.Context(), "basin-", "basin-one", 1)
		if err != nil || more || len(list) != 1 || list[0].Name != "basin-two" {
			t.Errorf("list behind the first: %v, %t, %v; want basin-two", list, more, err)
		}
		if streams, _, err := e.ListStreams(t.Context(), "basin-one", "", "", 0); err != nil || len(streams) != 0 {
			t.Errorf("streams of the new basin: %v, %v; want none", streams, err)
		}
		if b, err := e.Read(t.Context(), "basin-two", "s", engine.ReadOptions{}); err != nil || len(b.Entries) != 1 {
			t.Errorf("read of the other basin: %+v, %v; want its record", b, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = engine.Open(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// Names that S2 would not take are refused.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"": false, ".": false, "..": false, "...": true, "a": true, "a/../b": true, "\xff": false,
		strings.Repeat("x", 512): true, strings.Repeat("x", 513): false, strings.Repeat("é", 256): true, strings.Repeat("é", 257): false,
	} {
		if err := engine.CheckStreamName(name); (err == nil) != ok || !ok && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("stream name %.20q: err = %v; ok should be %t", name, err, ok)
		}
	}
}
