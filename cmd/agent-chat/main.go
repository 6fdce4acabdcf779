// Command agent-chat runs agent-chat on one machine, and calls a server that
// runs anywhere: it is the local runner and the command line client in one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, as it would without us.
	context.AfterFunc(ctx, stop)
	a := &app{in: os.Stdin, out: os.Stdout, errOut: os.Stderr, getenv: os.Getenv, invoked: os.Args[0]}
	os.Exit(a.run(ctx, os.Args[1:]))
}
