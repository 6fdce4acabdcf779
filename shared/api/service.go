package api

// Health is the answer of service.health and service.ready.
type Health struct {
	Status  string `json:"status" doc:"ok."`
	Version string `json:"version" doc:"The server's version."`
}
