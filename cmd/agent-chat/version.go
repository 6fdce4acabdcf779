package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  agent-chat version", Args: takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				a.object(a.out, map[string]string{"version": version, "go": runtime.Version(), "platform": platform})
				return nil
			}
			a.say("%s", describeVersion())
			return nil
		},
	}
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

func describeVersion() string {
	return fmt.Sprintf("agent-chat %s (%s, %s)", version, runtime.Version(), platform)
}
