package engine

import (
	"time"
	"unicode/utf8"
)

// A StreamConfig is S2's stream configuration. A nil member is unset and falls
// to the basin's default, then to S2's own, when the stream is created, ensured
// or reconfigured: the configuration of a stream that exists has none.
type StreamConfig struct {
	StorageClass     *string        `json:"storage_class,omitempty"`  // "standard", "express"; kept, without effect
	RetentionAge     *time.Duration `json:"retention,omitempty"`      // whole seconds; 0: infinite
	TimestampMode    *string        `json:"timestamp_mode,omitempty"` // "client-prefer", "client-require", "arrival"
	Uncapped         *bool          `json:"uncapped,omitempty"`
	DeleteOnEmptyAge *time.Duration `json:"delete_on_empty,omitempty"` // 0: never
}

// A BasinConfig is S2's basin configuration.
type BasinConfig struct {
	Default        StreamConfig `json:"default"`
	StreamCipher   *string      `json:"cipher,omitempty"` // kept, without effect: nothing is encrypted
	CreateOnAppend bool         `json:"create_on_append,omitempty"`
	CreateOnRead   bool         `json:"create_on_read,omitempty"`
}

// The timestamp modes.
const (
	ClientPrefer  = "client-prefer"
	ClientRequire = "client-require"
	Arrival       = "arrival"
)

// defaultRetention is how long S2 keeps records if nobody said.
const defaultRetention = 7 * 24 * time.Hour

// or returns c with its unset members taken from d.
func (c StreamConfig) or(d StreamConfig) StreamConfig {
	return StreamConfig{
		StorageClass:     first(c.StorageClass, d.StorageClass),
		RetentionAge:     first(c.RetentionAge, d.RetentionAge),
		TimestampMode:    first(c.TimestampMode, d.TimestampMode),
		Uncapped:         first(c.Uncapped, d.Uncapped),
		DeleteOnEmptyAge: first(c.DeleteOnEmptyAge, d.DeleteOnEmptyAge),
	}
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// resolve returns what a stream with c is like in a basin with b: every member is set.
func (c StreamConfig) resolve(b BasinConfig) StreamConfig {
	return c.or(b.Default).or(StreamConfig{
		StorageClass:     new("express"),
		RetentionAge:     new(defaultRetention),
		TimestampMode:    new(ClientPrefer),
		Uncapped:         new(false),
		DeleteOnEmptyAge: new(time.Duration(0)),
	})
}

func (c StreamConfig) validate() error {
	if c.StorageClass != nil && *c.StorageClass != "standard" && *c.StorageClass != "express" {
		return invalid("storage class %q", *c.StorageClass)
	}
	if c.RetentionAge != nil && (*c.RetentionAge < 0 || *c.RetentionAge > 0 && *c.RetentionAge < time.Second) {
		return invalid("a retention age of %v", *c.RetentionAge)
	}
	if m := c.TimestampMode; m != nil && *m != ClientPrefer && *m != ClientRequire && *m != Arrival {
		return invalid("timestamping mode %q", *m)
	}
	if c.DeleteOnEmptyAge != nil && *c.DeleteOnEmptyAge < 0 {
		return invalid("a delete-on-empty age of %v", *c.DeleteOnEmptyAge)
	}
	return nil
}

func (c BasinConfig) validate() error {
	if s := c.StreamCipher; s != nil && *s != "aegis-256" && *s != "aes-256-gcm" {
		return invalid("cipher %q", *s)
	}
	return c.Default.validate()
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func (c StreamConfig) equal(d StreamConfig) bool {
	return same(c.StorageClass, d.StorageClass) && same(c.RetentionAge, d.RetentionAge) &&
		same(c.TimestampMode, d.TimestampMode) && same(c.Uncapped, d.Uncapped) &&
		same(c.DeleteOnEmptyAge, d.DeleteOnEmptyAge)
}

func (c BasinConfig) equal(d BasinConfig) bool {
	return c.Default.equal(d.Default) && same(c.StreamCipher, d.StreamCipher) &&
		c.CreateOnAppend == d.CreateOnAppend && c.CreateOnRead == d.CreateOnRead
}

// CheckStreamName returns an error in the tree of ErrInvalid unless name is 1 to
// 512 bytes of UTF-8 and neither "." nor "..".
func CheckStreamName(name string) error {
	switch {
	case name == "", name == ".", name == "..":
		return invalid("stream name %q", name)
	case len(name) > 512:
		return invalid("a stream name of %d bytes, more than 512", len(name))
	case !utf8.ValidString(name):
		return invalid("a stream name that is not UTF-8")
	}
	return nil
}

func checkRequestToken(token string) error {
	if len(token) > 36 {
		return invalid("a request token of %d bytes, more than 36", len(token))
	}
	return nil
}
