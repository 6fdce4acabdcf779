package stream

import (
	"fmt"
	"strings"
	"time"
)

// A Basin is one of the two groups of streams, each with a configuration of its own.
type Basin int

const (
	// Main holds what somebody created: an append to a missing stream is
	// refused, and nothing is deleted for being empty.
	Main Basin = iota
	// Ops holds working records: created on append, kept for OpsRetention,
	// deleted OpsDeleteOnEmpty after they are empty.
	Ops
)

// The life of a stream of the Ops basin.
const (
	OpsRetention     = 7 * 24 * time.Hour
	OpsDeleteOnEmpty = 24 * time.Hour
)

// BasinConfig is what Store.Ensure configures, and Store.Check checks.
type BasinConfig struct {
	CreateOnAppend bool
	Default        Config // of a stream that is created without one of its own
}

// Config returns the configuration that b must have.
func (b Basin) Config() BasinConfig {
	if b == Ops {
		return BasinConfig{CreateOnAppend: true, Default: Config{Retention: OpsRetention, DeleteOnEmpty: OpsDeleteOnEmpty}}
	}
	return BasinConfig{}
}

// Suffix is what b's name on S2 adds to the configured basin name.
func (b Basin) Suffix() string {
	if b == Ops {
		return "-ops"
	}
	return ""
}

// S2's limits to the name of a basin, in bytes.
const (
	minBasinName = 8
	maxBasinName = 48
)

// CheckBasins returns an error in the tree of ErrInvalid unless S2 takes the names
// that the basins have on it: base, which is the configured one, with their suffixes.
func CheckBasins(base string) error {
	for _, b := range []Basin{Main, Ops} {
		if err := CheckBasinName(base + b.Suffix()); err != nil {
			return err
		}
	}
	return nil
}

// CheckBasinName returns an error in the tree of ErrInvalid unless name is 8 to
// 48 of a-z, 0-9 and hyphens, with none at either end.
func CheckBasinName(name string) error {
	const chars = "abcdefghijklmnopqrstuvwxyz0123456789-"
	if len(name) < minBasinName || len(name) > maxBasinName {
		return fmt.Errorf("%w: the basin name %.64q has %d bytes, not %d to %d", ErrInvalid, name, len(name), minBasinName, maxBasinName)
	}
	if strings.Trim(name, chars) != "" || strings.Trim(name, "-") != name {
		return fmt.Errorf("%w: the basin name %q is not of a-z, 0-9 and, within, '-'", ErrInvalid, name)
	}
	return nil
}
