package api

import "net/http"

// Made is in an answer that may tell of something new: 201, else 200.
type Made struct {
	Created bool `json:"-"`
}

// Status returns 201 for what is new.
func (m Made) Status() (int, http.Header) {
	if m.Created {
		return http.StatusCreated, nil
	}
	return http.StatusOK, nil
}

// Once is in an answer to what is stored once, however often it is sent: 201, or
// if an earlier request stored it, 200 and marked as such.
type Once struct {
	Replayed bool `json:"-"`
}

// Status returns 200 with Idempotent-Replayed for what was stored before, else 201.
func (o Once) Status() (int, http.Header) {
	if o.Replayed {
		return http.StatusOK, http.Header{"Idempotent-Replayed": {"true"}}
	}
	return http.StatusCreated, nil
}
