package valid

import "agentchat/shared/api"

// GetMessage checks a messages.get request. With to it looks at what the agent
// sent, and the id alone names that.
func GetMessage(r *api.GetMessageRequest) error {
	if r.To != "" && (r.From != "" || r.At != nil) {
		return api.InvalidParameter("to", "to looks up what the agent sent itself; it goes with neither from nor at")
	}
	return nil
}
