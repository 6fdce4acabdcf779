package s2stream

import (
	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
)

// A TokenRequest is what S2 takes to issue an access token.
type TokenRequest = s2.IssueAccessTokenArgs

// Scope returns the request for the narrowest token that the server works with:
// it appends, reads and creates streams, and looks at the basins' configuration.
// With it nobody can delete or trim a stream, or make or change a basin or a
// token; Ensure and Delete need more. S2 has no set of two names, so the scope is
// a prefix, which covers basins of longer names too.
func Scope(basin string) (TokenRequest, error) {
	if err := stream.CheckBasins(basin); err != nil {
		return TokenRequest{}, err
	}
	return TokenRequest{
		ID: s2.AccessTokenID("agent-chat-" + basin),
		Scope: s2.AccessTokenScope{
			Basins:  &s2.ResourceSet{Prefix: s2.Ptr(basin + stream.Main.Suffix())},
			Streams: &s2.ResourceSet{Prefix: s2.Ptr("")}, // all
			Ops: []string{
				s2.OperationAppend, s2.OperationCheckTail, s2.OperationCreateStream, s2.OperationFence,
				s2.OperationGetBasinConfig, s2.OperationListStreams, s2.OperationRead,
			},
		},
	}, nil
}
