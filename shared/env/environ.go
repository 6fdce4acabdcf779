package env

import (
	"errors"
	"log/slog"

	"agentchat/shared/route"
	"agentchat/shared/signed"
	"agentchat/shared/stream/s2stream"
)

// FromEnviron reads the variables of the server of a family and opens the store on
// S2. A family that is open to anybody needs no token. An error names the variable
// to set. It connects to nothing yet: the store's Check does.
func FromEnviron(family string, getenv func(string) string, log *slog.Logger) (*Env, error) {
	c, err := Read(getenv)
	if err != nil {
		return nil, err
	}
	open := route.Open(family)
	if len(c.APITokens) == 0 && !open {
		return nil, errors.New(APIToken + " is not set")
	}
	if c.S2Token == "" {
		return nil, errors.New(S2Token + " is not set")
	}
	store, err := c.OpenS2(log)
	if err != nil {
		return nil, err
	}
	return New(Options{Store: store, Config: c, Log: log, Open: open})
}

// OpenS2 returns the store on S2 that c names. It connects to nothing yet.
func (c Config) OpenS2(log *slog.Logger) (*s2stream.Store, error) {
	return s2stream.New(s2stream.Options{Token: c.S2Token, Endpoint: c.S2Endpoint, Basin: c.Basin, MaxSkew: signed.MaxSkew, Log: log})
}
