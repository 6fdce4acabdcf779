package monitor

import "agentchat/shared/stream"

// CheckpointRoundTrip decodes a checkpoint's body and encodes it again; for a fuzz target.
func CheckpointRoundTrip(body []byte) (stream.Record, error) {
	r, err := decodeRecord(body)
	if err != nil {
		return stream.Record{}, err
	}
	again, _, err := r.encode()
	return again, err
}
