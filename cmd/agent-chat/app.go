package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/ident"
)

// defaultURL is where dev listens.
const defaultURL = "http://127.0.0.1:8080"

// An app is what all commands share: where they read and write, and the flags
// that all of them have.
type app struct {
	in      io.Reader
	out     io.Writer
	errOut  io.Writer
	getenv  func(string) string
	invoked string // how the process was called
	args    []string

	url     string
	json    bool
	verbose bool

	running bool // the command line was understood
}

// run runs one command line and returns the exit status. It says on errOut what
// went wrong.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root() //nolint:contextcheck // cobra hands ctx to the commands
	a.args = args
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !a.running {
		err = usage{fmt.Errorf("%w\nSee %s --help", err, cmd.CommandPath())}
	}
	if ctx.Err() != nil && !errors.Is(err, client.ErrUnknown) {
		return exitInterrupted
	}
	a.report(err)
	return exitStatus(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent-chat",
		Short: "Durable messaging between software agents",
		Long: `Durable messaging between software agents.

Every agent owns an inbox. A message is acknowledged when it is durable; it can
be replayed from any position and followed live.

Begin with "agent-chat dev", or see "agent-chat demo".

Environment:
  AGENT_CHAT_URL     the server, default ` + defaultURL + `
  AGENT_CHAT_TOKEN   an API token, or the key of one agent
  AGENT_CHAT_AGENT   the agent that commands act as
  AGENT_CHAT_ADMIN_TOKEN
                     an auditor's token, for monitor
  NO_COLOR           if set, no colours

Exit status:
  0    done
  1    failed
  2    the command line or the configuration is wrong
  3    the server refused it: the same call would be refused again
  4    no answer, or try again later; after a send, the message may have been
       stored: repeat it with the id that the error names. Of chats also:
       replaced, somebody else has claimed the direction
  5    of chats: the outcome of an append is unknown; inspect it, then recover
  130  interrupted`,
		Example: `  agent-chat dev
  agent-chat register alice bob
  agent-chat send bob "hello" --from alice
  agent-chat inbox bob --follow`,
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "write one JSON object a line")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say on standard error what is called (never a token)")
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate(describeVersion() + "\n")
	root.AddGroup(
		&cobra.Group{ID: "talk", Title: "Talk:"},
		&cobra.Group{ID: "manage", Title: "Manage:"},
		&cobra.Group{ID: "host", Title: "Run a server:"},
	)
	add := func(group string, remote bool, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			if remote {
				c.PersistentFlags().StringVar(&a.url, "url", "", "the server (default $AGENT_CHAT_URL, else "+defaultURL+")")
			}
			root.AddCommand(c)
		}
	}
	add("talk", true, a.sendCommand(), a.inboxCommand(), a.shareCommand(), a.acceptCommand(), a.receiptCommand(), a.chatsCommand(), a.monitorCommand())
	add("manage", true, a.registerCommand(), a.agentsCommand(), a.contactsCommand(), a.keysCommand(), a.whoamiCommand(), a.doctorCommand())
	add("talk", false, a.verifyCommand())
	add("host", false, a.devCommand(), a.serveCommand(), a.s2Command(), a.initCommand(), a.signingKeysCommand(), a.demoCommand())
	root.AddCommand(a.versionCommand())
	a.mark(root)
	strict(root)
	return root
}

// strict has what cobra itself adds to root refuse words that it does not know, where
// it would show help and succeed: a script would keep the help for a completion.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("unknown command %q for %q", rest[0], of.CommandPath())
				}
				return err
			}
		}
	}
}

// mark has every command say that it was reached: what fails before is the command line's fault.
func (a *app) mark(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		a.mark(c)
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flag("url") != nil {
			if err := legible(a.args); err != nil {
				return err
			}
		}
		a.running = true
		return run(cmd, args)
	}
}

// legible checks that a command line for a server can go there as it was written:
// JSON and URLs hold UTF-8. A file may be called anything.
func legible(args []string) error {
	for _, arg := range args {
		value := arg
		if strings.HasPrefix(arg, "--") {
			_, value, _ = strings.Cut(arg, "=")
		}
		if !utf8.ValidString(arg) && !strings.HasPrefix(value, "@") {
			return fmt.Errorf("%q is not UTF-8", arg)
		}
	}
	return nil
}

// client returns a client of the server that flags and environment name.
func (a *app) client() (*client.Client, error) {
	conf, err := a.remote()
	if err != nil {
		return nil, err
	}
	if conf.Token == "" {
		return nil, usagef("AGENT_CHAT_TOKEN is not set: the API token, or the key of an agent (agent-chat dev says where its token is)")
	}
	return a.dial(conf, client.Options{})
}

// remote returns what flags and environment say of the server.
func (a *app) remote() (env.ClientConfig, error) {
	conf, err := env.Client(a.getenv)
	if err != nil {
		return conf, usage{err}
	}
	if a.url != "" {
		conf.URL = a.url
	}
	if conf.URL == "" {
		conf.URL = defaultURL
	}
	return conf, nil
}

// dial returns a client with the options given and what all clients of this command have.
func (a *app) dial(conf env.ClientConfig, o client.Options) (*client.Client, error) {
	o.URL, o.Token, o.UserAgent = conf.URL, conf.Token, "agent-chat/"+version
	also := o.Trace
	o.Trace = func(t client.Trace) {
		if a.verbose {
			a.trace(t)
		}
		if also != nil {
			also(t)
		}
	}
	c, err := client.New(o)
	if err != nil {
		return nil, usage{err}
	}
	return c, nil
}

func (a *app) trace(t client.Trace) {
	took := t.Took.Round(time.Millisecond)
	if t.Err != nil {
		a.note("%s %s %s: %v (%v)", t.Op, t.Method, t.Target, t.Err, took)
		return
	}
	a.note("%s %s %s: %d (%v, request %s)", t.Op, t.Method, t.Target, t.Status, took, t.RequestID)
}

// agent returns the agent called name, or if that is empty the one that the
// environment names. Without either, the error asks for one, and says where to name it.
func (a *app) agent(name, ask string) (ident.Agent, error) {
	if name != "" {
		return parseAgent(name)
	}
	conf, err := a.remote()
	if err == nil && conf.Agent == "" {
		err = usagef("%s, or set AGENT_CHAT_AGENT", ask)
	}
	return conf.Agent, err
}

// What commands ask that need an agent.
const (
	whoseInbox = "whose inbox? Name the agent"
	whoseBook  = "whose address book? --agent AGENT"
	fromWhom   = "from whom? --from AGENT"
	asWhom     = "as which agent? --as AGENT"
)
