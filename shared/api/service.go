package api

// Health is the answer of service.health.
type Health struct {
	Status  string `json:"status" doc:"ok."`
	Version string `json:"version" doc:"The server's version."`
}

// Readiness is the answer of service.ready of a server whose store can be reached
// and is configured. Components is never null.
type Readiness struct {
	Status     Condition   `json:"status" doc:"degraded if a component is."`
	Version    string      `json:"version" doc:"The server's version."`
	Components []Component `json:"components" doc:"What was looked at."`
}

// A Component is a part of a server that may fail by itself.
type Component struct {
	Name   ComponentName `json:"component" doc:"store: the log. signing: the keys of signed chats, where this process has some. clock: this server's, where the store has one of its own."`
	Status Condition     `json:"status" doc:"How it is."`
	Reason string        `json:"reason,omitempty" doc:"Why it is degraded, for people; may change."`
}

// A ComponentName names a part of a server.
type ComponentName string

// The components.
const (
	StoreComponent   ComponentName = "store"
	SigningComponent ComponentName = "signing"
	ClockComponent   ComponentName = "clock"
)

// ComponentNames returns all of them.
func ComponentNames() []ComponentName {
	return []ComponentName{StoreComponent, SigningComponent, ClockComponent}
}

// A Condition is how a server or a component is.
type Condition string

// The conditions. A server that is degraded answers calls, and some of them not as
// it should: an operator must look.
const (
	OK       Condition = "ok"
	Degraded Condition = "degraded"
)

// Conditions returns both.
func Conditions() []Condition { return []Condition{OK, Degraded} }
