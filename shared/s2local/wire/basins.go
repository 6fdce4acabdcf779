package wire

import (
	"net/http"
	"time"

	"agentchat/shared/s2local/engine"
)

// resultHeader says what a create or an ensure did.
const resultHeader = "s2-provision-result"

type basinInfo struct {
	Name      string     `json:"name"`
	Location  *string    `json:"location"`
	CreatedAt time.Time  `json:"created_at"`
	DeletedAt *time.Time `json:"deleted_at"` // always null, as the store deletes at once
	State     string     `json:"state"`
}

func basinInfoOf(i engine.Info) basinInfo {
	return basinInfo{Name: i.Name, CreatedAt: i.CreatedAt, State: "active"}
}

func (s *Server) listBasins(w http.ResponseWriter, r *http.Request) error {
	q, err := parseList(r.URL.RawQuery)
	if err != nil {
		return err
	}
	infos, more, err := s.engine.ListBasins(r.Context(), q.prefix, q.after, q.limit)
	if err != nil {
		return err
	}
	list := struct {
		Basins  []basinInfo `json:"basins"`
		HasMore bool        `json:"has_more"`
	}{[]basinInfo{}, more}
	for _, i := range infos {
		list.Basins = append(list.Basins, basinInfoOf(i))
	}
	return writeJSON(w, http.StatusOK, list)
}

func (s *Server) createBasin(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Basin    string       `json:"basin"`
		Config   *basinConfig `json:"config"`
		Location *string      `json:"location"`
	}
	if err := s.bodyJSON(w, r, &req); err != nil {
		return err
	}
	config, err := basinRequest(req.Config, req.Location)
	if err != nil {
		return err
	}
	info, did, err := s.engine.CreateBasin(r.Context(), req.Basin, config, r.Header.Get("s2-request-token"))
	if err != nil {
		return err
	}
	w.Header().Set(resultHeader, provision(did))
	return writeJSON(w, http.StatusCreated, basinInfoOf(info))
}

func (s *Server) ensureBasin(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Config   *basinConfig `json:"config"`
		Location *string      `json:"location"`
	}
	if err := s.optionalJSON(w, r, &req); err != nil {
		return err
	}
	config, err := basinRequest(req.Config, req.Location)
	if err != nil {
		return err
	}
	info, did, err := s.engine.EnsureBasin(r.Context(), r.PathValue("basin"), config)
	if err != nil {
		return inPath(r, err)
	}
	w.Header().Set(resultHeader, provision(did))
	return writeJSON(w, ensured(did), basinInfoOf(info))
}

func basinRequest(c *basinConfig, location *string) (engine.BasinConfig, error) {
	if location != nil {
		return engine.BasinConfig{}, faultf(notImplemented, "this store has no locations; leave location out")
	}
	return c.engine()
}

func (s *Server) basinConfig(w http.ResponseWriter, r *http.Request) error {
	config, err := s.engine.BasinConfig(r.Context(), r.PathValue("basin"))
	if err != nil {
		return inPath(r, err)
	}
	return writeJSON(w, http.StatusOK, basinConfigOf(config))
}

func (s *Server) reconfigureBasin(w http.ResponseWriter, r *http.Request) error {
	var req basinChange
	if err := s.bodyJSON(w, r, &req); err != nil {
		return err
	}
	change, err := req.change()
	if err != nil {
		return err
	}
	config, err := s.engine.ReconfigureBasin(r.Context(), r.PathValue("basin"), change)
	if err != nil {
		return inPath(r, err)
	}
	return writeJSON(w, http.StatusOK, basinConfigOf(config))
}

func (s *Server) deleteBasin(w http.ResponseWriter, r *http.Request) error {
	if err := s.engine.DeleteBasin(r.Context(), r.PathValue("basin")); err != nil {
		return inPath(r, err)
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func provision(did engine.Provision) string {
	switch did {
	case engine.Created:
		return "created"
	case engine.Updated:
		return "updated"
	case engine.Noop:
	}
	return "noop"
}

func ensured(did engine.Provision) int {
	if did == engine.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// bodyJSON parses the body of r into v.
func (s *Server) bodyJSON(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := s.body(w, r)
	if err != nil {
		return err
	}
	return decodeJSON(b, v)
}

// optionalJSON does so too, and leaves v alone if there is no body.
func (s *Server) optionalJSON(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := s.body(w, r)
	if err != nil || len(b) == 0 {
		return err
	}
	return decodeJSON(b, v)
}
