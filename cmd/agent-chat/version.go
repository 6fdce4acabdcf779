package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  agent-chat version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if a.json {
				a.object(a.out, map[string]string{"version": version, "go": runtime.Version(), "platform": platform})
				return nil
			}
			a.say("agent-chat %s (%s, %s)", version, runtime.Version(), platform)
			return nil
		},
	}
}
