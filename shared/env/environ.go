package env

import (
	"errors"
	"log/slog"

	"agentchat/shared/stream/s2stream"
)

// FromEnviron reads the server's variables and opens the store on S2. An error
// names the variable to set. It connects to nothing yet: the store's Check does.
func FromEnviron(getenv func(string) string, log *slog.Logger) (*Env, error) {
	c, err := Read(getenv)
	if err != nil {
		return nil, err
	}
	if len(c.APITokens) == 0 {
		return nil, errors.New(APIToken + " is not set")
	}
	if c.S2Token == "" {
		return nil, errors.New(S2Token + " is not set")
	}
	store, err := s2stream.New(s2stream.Options{Token: c.S2Token, Endpoint: c.S2Endpoint, Basin: c.Basin})
	if err != nil {
		return nil, err
	}
	return New(Options{Store: store, Config: c, Log: log})
}
