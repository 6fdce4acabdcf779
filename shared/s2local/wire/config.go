package wire

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentchat/shared/s2local/engine"
)

// The configurations as S2's JSON has them.
type (
	streamConfig struct {
		StorageClass  *string        `json:"storage_class"`
		Retention     *retention     `json:"retention_policy"`
		Timestamping  *timestamping  `json:"timestamping"`
		DeleteOnEmpty *deleteOnEmpty `json:"delete_on_empty"`
	}
	retention struct {
		Age      *uint64   `json:"age,omitzero"` // seconds
		Infinite *struct{} `json:"infinite,omitzero"`
	}
	timestamping struct {
		Mode     *string `json:"mode"`
		Uncapped *bool   `json:"uncapped"`
	}
	deleteOnEmpty struct {
		MinAge uint64 `json:"min_age_secs"` // 0: never
	}
	basinConfig struct {
		Default        *streamConfig `json:"default_stream_config"`
		Cipher         *string       `json:"stream_cipher"`
		CreateOnAppend bool          `json:"create_stream_on_append"`
		CreateOnRead   bool          `json:"create_stream_on_read"`
	}
)

// A maybe is a member that may be absent, null or a value: PATCH keeps, resets
// and sets.
type maybe[T any] struct {
	given bool
	value *T // nil: null
}

// UnmarshalJSONFrom is called for a member that is there, null included.
func (m *maybe[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	m.given = true
	return json.UnmarshalDecode(d, &m.value)
}

// The changes to configurations as S2's JSON has them.
type (
	streamChange struct {
		StorageClass  maybe[string]              `json:"storage_class"`
		Retention     maybe[retention]           `json:"retention_policy"`
		Timestamping  maybe[timestampingChange]  `json:"timestamping"`
		DeleteOnEmpty maybe[deleteOnEmptyChange] `json:"delete_on_empty"`
	}
	timestampingChange struct {
		Mode     maybe[string] `json:"mode"`
		Uncapped maybe[bool]   `json:"uncapped"`
	}
	deleteOnEmptyChange struct {
		MinAge maybe[uint64] `json:"min_age_secs"`
	}
	basinChange struct {
		Default        maybe[streamChange] `json:"default_stream_config"`
		Cipher         maybe[string]       `json:"stream_cipher"`
		CreateOnAppend maybe[bool]         `json:"create_stream_on_append"`
		CreateOnRead   maybe[bool]         `json:"create_stream_on_read"`
	}
)

// engine returns c as the engine has it.
func (c *streamConfig) engine() (engine.StreamConfig, error) {
	if c == nil {
		return engine.StreamConfig{}, nil
	}
	to := engine.StreamConfig{StorageClass: c.StorageClass}
	if err := checkClass(c.StorageClass); err != nil {
		return to, err
	}
	if c.Retention != nil {
		age, err := c.Retention.duration()
		if err != nil {
			return to, err
		}
		to.RetentionAge = &age
	}
	if t := c.Timestamping; t != nil {
		if err := checkMode(t.Mode); err != nil {
			return to, err
		}
		to.TimestampMode, to.Uncapped = t.Mode, t.Uncapped
	}
	if c.DeleteOnEmpty != nil {
		age, err := seconds(c.DeleteOnEmpty.MinAge)
		if err != nil {
			return to, err
		}
		to.DeleteOnEmptyAge = &age
	}
	return to, nil
}

// duration returns r's age; zero is infinite.
func (r *retention) duration() (time.Duration, error) {
	switch {
	case (r.Age == nil) == (r.Infinite == nil):
		return 0, faultf(badJSON, `a retention_policy is {"age": seconds} or {"infinite": {}}`)
	case r.Infinite != nil:
		return 0, nil
	case *r.Age == 0:
		return 0, faultf(invalid, "a retention age must be greater than 0 seconds")
	}
	return seconds(*r.Age)
}

func seconds(n uint64) (time.Duration, error) {
	if n > uint64(math.MaxInt64/time.Second) {
		return 0, faultf(invalid, "%d seconds are too long", n)
	}
	return time.Duration(n) * time.Second, nil // it was just compared
}

func checkClass(class *string) error {
	if class == nil || *class == "standard" || *class == "express" {
		return nil
	}
	return faultf(badJSON, "storage_class is %q, not standard or express", *class)
}

func checkMode(mode *string) error {
	if mode == nil || *mode == "client-prefer" || *mode == "client-require" || *mode == "arrival" {
		return nil
	}
	return faultf(badJSON, "a timestamping mode is %q, not client-prefer, client-require or arrival", *mode)
}

// checkCipher refuses what this store does not do. To store plain text where a
// client asked for its key to be used would be a lie.
func checkCipher(cipher *string) error {
	if cipher == nil {
		return nil
	}
	return faultf(notImplemented, "this store does not encrypt streams; leave stream_cipher out")
}

// streamConfigOf returns c as JSON has it, nil if nothing is set.
func streamConfigOf(c engine.StreamConfig) *streamConfig {
	if c == (engine.StreamConfig{}) {
		return nil
	}
	to := &streamConfig{StorageClass: c.StorageClass}
	if c.RetentionAge != nil {
		to.Retention = &retention{Infinite: &struct{}{}}
		if *c.RetentionAge > 0 {
			age := inSeconds(*c.RetentionAge)
			to.Retention = &retention{Age: &age}
		}
	}
	if c.TimestampMode != nil || c.Uncapped != nil {
		to.Timestamping = &timestamping{Mode: c.TimestampMode, Uncapped: c.Uncapped}
	}
	if c.DeleteOnEmptyAge != nil {
		to.DeleteOnEmpty = &deleteOnEmpty{MinAge: inSeconds(*c.DeleteOnEmptyAge)}
	}
	return to
}

func inSeconds(d time.Duration) uint64 { return uint64(d / time.Second) } // never negative

func (c *basinConfig) engine() (engine.BasinConfig, error) {
	if c == nil {
		return engine.BasinConfig{}, nil
	}
	if err := checkCipher(c.Cipher); err != nil {
		return engine.BasinConfig{}, err
	}
	d, err := c.Default.engine()
	return engine.BasinConfig{Default: d, CreateOnAppend: c.CreateOnAppend, CreateOnRead: c.CreateOnRead}, err
}

func basinConfigOf(c engine.BasinConfig) basinConfig {
	return basinConfig{
		Default: streamConfigOf(c.Default), Cipher: c.StreamCipher,
		CreateOnAppend: c.CreateOnAppend, CreateOnRead: c.CreateOnRead,
	}
}

// change returns what c does to a configuration. It is checked here, so that
// what is returned can't fail: it runs inside the engine.
func (c *streamChange) change() (func(*engine.StreamConfig), error) {
	var age, empty *time.Duration
	if r := c.Retention.value; r != nil {
		d, err := r.duration()
		if err != nil {
			return nil, err
		}
		age = &d
	}
	if e := c.DeleteOnEmpty.value; e != nil && e.MinAge.value != nil {
		d, err := seconds(*e.MinAge.value)
		if err != nil {
			return nil, err
		}
		empty = &d
	}
	if err := checkClass(c.StorageClass.value); err != nil {
		return nil, err
	}
	if t := c.Timestamping.value; t != nil {
		if err := checkMode(t.Mode.value); err != nil {
			return nil, err
		}
	}
	return func(to *engine.StreamConfig) {
		set(&to.StorageClass, c.StorageClass)
		set(&to.RetentionAge, maybe[time.Duration]{c.Retention.given, age})
		t := c.Timestamping
		if t.given && t.value == nil {
			to.TimestampMode, to.Uncapped = nil, nil
		} else if t.given {
			set(&to.TimestampMode, t.value.Mode)
			set(&to.Uncapped, t.value.Uncapped)
		}
		e := c.DeleteOnEmpty
		set(&to.DeleteOnEmptyAge, maybe[time.Duration]{e.given && (e.value == nil || e.value.MinAge.given), empty})
	}, nil
}

func set[T any](to **T, m maybe[T]) {
	if m.given {
		*to = m.value
	}
}

func (c *basinChange) change() (func(*engine.BasinConfig), error) {
	if err := checkCipher(c.Cipher.value); err != nil {
		return nil, err
	}
	if c.CreateOnAppend.given && c.CreateOnAppend.value == nil || c.CreateOnRead.given && c.CreateOnRead.value == nil {
		return nil, faultf(badJSON, "create_stream_on_append and create_stream_on_read are true or false")
	}
	toDefault := func(*engine.StreamConfig) {}
	if d := c.Default; d.value != nil {
		var err error
		if toDefault, err = d.value.change(); err != nil {
			return nil, err
		}
	} else if d.given {
		toDefault = func(to *engine.StreamConfig) { *to = engine.StreamConfig{} }
	}
	return func(to *engine.BasinConfig) {
		toDefault(&to.Default)
		set(&to.StreamCipher, c.Cipher)
		if c.CreateOnAppend.given {
			to.CreateOnAppend = *c.CreateOnAppend.value
		}
		if c.CreateOnRead.given {
			to.CreateOnRead = *c.CreateOnRead.value
		}
	}, nil
}
