package main

import (
	"log/slog"
	"strings"

	"agentchat/shared/env"
	"agentchat/shared/gateway"
)

// defaultFunctions is where make bootstraps puts the functions for this machine.
const defaultFunctions = "build/lambda/host"

// gatewayTo returns a front over the functions that were built into dir, with
// their store on the S2 API at endpoint.
func (a *app) gatewayTo(dir string, conf env.Config, endpoint, s2Token string, log *slog.Logger) (*gateway.Gateway, error) {
	conf.S2Endpoint, conf.S2Token = endpoint, s2Token
	fs, err := gateway.Bootstraps(dir, a.functionsEnviron(conf)...)
	if err != nil {
		return nil, usagef("--lambda: %v (make bootstraps builds them)", err)
	}
	return gateway.New(gateway.Options{Functions: fs, Log: log, Output: a.errOut}), nil
}

// functionsEnviron returns the variables of functions that are to be what conf
// says, and this process's variables what else the server reads.
func (a *app) functionsEnviron(conf env.Config) []string {
	environ := []string{
		env.APIToken + "=" + strings.Join(conf.APITokens, ","), env.AdminToken + "=" + strings.Join(conf.AdminTokens, ","),
		env.S2Endpoint + "=" + conf.S2Endpoint, env.S2Token + "=" + conf.S2Token, env.Basin + "=" + conf.Basin,
		env.Version + "=" + version, env.SigningKeys + "=" + string(conf.SigningKeys.Private()),
	}
	for _, name := range []string{env.Retention, env.StreamMaxAge, env.CORSOrigins, env.AgentKeys, env.ChatGrants, env.PIIPolicy} {
		environ = append(environ, name+"="+a.getenv(name))
	}
	return environ
}
