package coordinator

import (
	"context"
	"errors"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// Recover says what became of an operation that was to stand at a position, for
// good: if it may still come to stand there, the direction is claimed at that
// position, so that it never will. The one who owned it is then replaced.
func Recover(ctx context.Context, c *client.Client, req api.OperationRequest, claim ident.Claim) (*api.OperationResponse, error) {
	for {
		got, err := c.Operation(ctx, req)
		if err != nil || got.Outcome == api.OperationStored || got.Final {
			return got, err
		}
		review, err := Look(ctx, c, req.Chat, req.AgentID)
		if err != nil {
			return nil, err
		}
		if review.Tail != *req.ExpectedPosition {
			if review.Tail < *req.ExpectedPosition {
				return nil, errors.New("the direction ends before that position: nothing that was to stand there can have been sent")
			}
			continue // something stands there now
		}
		_, err = review.Claim(ctx, claim)
		if e, ok := errors.AsType[*client.Error](err); err != nil && (!ok || e.Problem.Code != api.ClaimStale) {
			return nil, err
		}
	}
}
