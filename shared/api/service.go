package api

// Health is the answer of service.health and service.ready.
type Health struct {
	Status  string `json:"status"` // "ok"
	Version string `json:"version"`
}
