package valid_test

import (
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/valid"
)

func TestGetMessage(t *testing.T) {
	for _, tt := range []struct {
		name, where string
		req         api.GetMessageRequest
	}{
		{"id alone", "ok", api.GetMessageRequest{Agent: "bob", Message: "m"}},
		{"from and at", "ok", api.GetMessageRequest{Agent: "bob", Message: "m", From: "alice", At: new(uint64(0))}},
		{"to", "ok", api.GetMessageRequest{Agent: "alice", Message: "m", To: "bob"}},
		{"to and from", "to", api.GetMessageRequest{Agent: "alice", Message: "m", To: "bob", From: "carol"}},
		{"to and at zero", "to", api.GetMessageRequest{Agent: "alice", Message: "m", To: "bob", At: new(uint64(0))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantBlame(t, "GetMessage", valid.GetMessage(&tt.req), tt.where, "neither from nor at")
		})
	}
}
