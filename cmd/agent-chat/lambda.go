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
// their store on the S2 API at endpoint. They are told what conf says, and of
// this process's variables what else the server reads.
func (a *app) gatewayTo(dir string, conf env.Config, endpoint, s2Token string, log *slog.Logger) (*gateway.Gateway, error) {
	environ := []string{
		env.APIToken + "=" + strings.Join(conf.APITokens, ","), env.AdminToken + "=" + strings.Join(conf.AdminTokens, ","),
		env.S2Endpoint + "=" + endpoint, env.S2Token + "=" + s2Token, env.Basin + "=" + conf.Basin,
		env.Version + "=" + version, env.SigningKeys + "=" + string(conf.SigningKeys.Private()),
	}
	for _, name := range []string{env.Retention, env.StreamMaxAge, env.CORSOrigins} {
		environ = append(environ, name+"="+a.getenv(name))
	}
	fs, err := gateway.Bootstraps(dir, environ...)
	if err != nil {
		return nil, usagef("--lambda: %v (make bootstraps builds them)", err)
	}
	return gateway.New(gateway.Options{Functions: fs, Log: log, Output: a.errOut}), nil
}
