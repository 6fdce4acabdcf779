package mailbox_test

import (
	"testing"
	"testing/synctest"

	"agentchat/shared/api"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// A registration or a deletion that got no further than its first step is not
// said to have written nothing, and a repeat finishes it.
func TestHalfDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		away := false // the inbox, not the registration
		m := onStore(faultstream.New(t, w.store, faultstream.Options{Choose: func(c faultstream.Call) faultstream.Fault {
			if away && c.Name == stream.Inbox("bob") {
				return faultstream.Fault{Kind: faultstream.Refused}
			}
			return faultstream.Fault{}
		}}))
		away = true
		_, err := m.Register(t.Context(), "bob", api.Profile{})
		wantCode(t, "register", err, api.OutcomeUnknown)
		away = false
		register(t, m, "bob")
		away = true
		wantCode(t, "delete", m.Delete(t.Context(), "bob"), api.OutcomeUnknown)
		away = false
		if err := m.Delete(t.Context(), "bob"); err != nil {
			t.Errorf("delete again: %v", err)
		}
	})
}
