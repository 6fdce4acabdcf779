package wire

import (
	"net/http"
	"time"

	"agentchat/shared/s2local/engine"
	"agentchat/shared/stream"
)

type streamInfo struct {
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	DeletedAt *time.Time `json:"deleted_at"` // always null, as the store deletes at once
	Cipher    *string    `json:"cipher"`
}

func streamInfoOf(i engine.Info) streamInfo {
	return streamInfo{Name: i.Name, CreatedAt: i.CreatedAt, Cipher: i.Cipher}
}

// basinOf returns the basin of a call about streams.
func basinOf(r *http.Request) (string, error) {
	basin := r.Header.Get("s2-basin")
	if basin == "" {
		return "", faultf(badHeader, "the header s2-basin is missing")
	}
	if err := stream.CheckBasinName(basin); err != nil {
		return "", faultf(badHeader, "the header s2-basin: %v", err)
	}
	return basin, nil
}

// streamOf returns the basin and the stream that a call is about.
func streamOf(r *http.Request) (basin, name string, err error) {
	name = r.PathValue("stream")
	if err := engine.CheckStreamName(name); err != nil {
		return "", "", faultf(badPath, "%v", err)
	}
	basin, err = basinOf(r)
	return basin, name, err
}

func (s *Server) listStreams(w http.ResponseWriter, r *http.Request) error {
	basin, err := basinOf(r)
	if err != nil {
		return err
	}
	q, err := parseList(r.URL.RawQuery)
	if err != nil {
		return err
	}
	infos, more, err := s.engine.ListStreams(r.Context(), basin, q.prefix, q.after, q.limit)
	if err != nil {
		return err
	}
	list := struct {
		Streams []streamInfo `json:"streams"`
		HasMore bool         `json:"has_more"`
	}{[]streamInfo{}, more}
	for _, i := range infos {
		list.Streams = append(list.Streams, streamInfoOf(i))
	}
	return writeJSON(w, http.StatusOK, list)
}

func (s *Server) createStream(w http.ResponseWriter, r *http.Request) error {
	basin, err := basinOf(r)
	if err != nil {
		return err
	}
	var req struct {
		Stream string        `json:"stream"`
		Config *streamConfig `json:"config"`
	}
	if err := s.bodyJSON(w, r, &req); err != nil {
		return err
	}
	config, err := req.Config.engine()
	if err != nil {
		return err
	}
	info, did, err := s.engine.CreateStream(r.Context(), basin, req.Stream, config, r.Header.Get("s2-request-token"))
	if err != nil {
		return err
	}
	w.Header().Set(resultHeader, provision(did))
	return writeJSON(w, http.StatusCreated, streamInfoOf(info))
}

func (s *Server) ensureStream(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	var req streamConfig
	if err := s.optionalJSON(w, r, &req); err != nil {
		return err
	}
	config, err := req.engine()
	if err != nil {
		return err
	}
	info, did, err := s.engine.EnsureStream(r.Context(), basin, name, config)
	if err != nil {
		return err
	}
	w.Header().Set(resultHeader, provision(did))
	return writeJSON(w, ensured(did), streamInfoOf(info))
}

func (s *Server) streamConfig(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	config, err := s.engine.StreamConfig(r.Context(), basin, name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, streamConfigOf(config))
}

func (s *Server) reconfigureStream(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	var req streamChange
	if err := s.bodyJSON(w, r, &req); err != nil {
		return err
	}
	change, err := req.change()
	if err != nil {
		return err
	}
	config, err := s.engine.ReconfigureStream(r.Context(), basin, name, change)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, streamConfigOf(config))
}

func (s *Server) deleteStream(w http.ResponseWriter, r *http.Request) error {
	basin, name, err := streamOf(r)
	if err != nil {
		return err
	}
	if err := s.engine.DeleteStream(r.Context(), basin, name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
