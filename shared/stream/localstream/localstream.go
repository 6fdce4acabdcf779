// Package localstream is a stream.Store straight onto the embedded engine, no
// wire between: what dev and serve use on one machine, and, with the engine in
// memory, the store of tests.
package localstream

import (
	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

// New returns a store on e, whose basins are base and base + "-ops". Closing e ends it.
func New(e *engine.Engine, base string) stream.Store { panic("unwritten") }

// Memory returns a store on a new engine in memory, and what ends it.
// Its basins are ensured.
func Memory() (s stream.Store, closeStore func()) { panic("unwritten") }
