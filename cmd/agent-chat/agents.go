package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

func (a *app) registerCommand() *cobra.Command {
	var p api.Profile
	var labels []string
	cmd := &cobra.Command{
		Use:   "register AGENT ...",
		Short: "Register agents, or replace their profiles",
		Long: `Register agents, or replace their whole profiles. Doing it again changes nothing.

An agent is 1-64 lower-case letters, digits, ".", "_" and "-". It takes the API
token. The server never connects to --endpoint; it is for other agents to read.`,
		Example: `  agent-chat register alice bob
  agent-chat register carol --display-name Carol --capability research --label team=discovery`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: a.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if p.Labels, err = pairs("--label", labels); err != nil {
				return err
			}
			return a.register(cmd, args, p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.DisplayName, "display-name", "", "a `name` for people")
	f.StringVar(&p.Endpoint, "endpoint", "", "an https `URL` of the agent's own")
	f.StringArrayVar(&p.Capabilities, "capability", nil, "what it can do; repeatable")
	f.StringArrayVar(&labels, "label", nil, "`KEY=VALUE`; repeatable")
	f.StringVar(&p.PublicKey, "public-key", "", "its public `key`")
	f.StringArrayVar(&p.ProtocolVersions, "protocol-version", nil, "a `version` that it speaks, as 1.0.0; repeatable")
	return cmd
}

func (a *app) register(cmd *cobra.Command, args []string, p api.Profile) error {
	ids, err := parseAgents(args)
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	for _, id := range ids {
		got, err := c.Register(cmd.Context(), api.RegisterRequest{Agent: id, Profile: p})
		if err != nil {
			return err
		}
		switch {
		case a.json:
			a.object(a.out, got.AgentInfo)
		case got.Created:
			a.say("registered %s", id)
		default:
			a.say("updated %s", id)
		}
	}
	return nil
}

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agents",
		Short:   "List, show and delete agents",
		Example: "  agent-chat agents\n  agent-chat agents show alice\n  agent-chat agents delete alice --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(func(c *client.Client) error { return a.listAgents(cmd, c) })
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List the registered agents", Example: "  agent-chat agents list --json", Args: takes(0, 0),
		RunE: cmd.RunE,
	}
	show := &cobra.Command{
		Use: "show AGENT", Short: "Show an agent's profile", Example: "  agent-chat agents show alice", Args: takes(1, 1), ValidArgsFunction: a.completeAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseAgent(args[0])
			if err != nil {
				return err
			}
			return a.with(func(c *client.Client) error {
				got, err := c.Agent(cmd.Context(), id)
				if err == nil {
					a.profile(*got)
				}
				return err
			})
		},
	}
	var yes bool
	del := &cobra.Command{
		Use: "delete AGENT", Short: "Delete an agent: its keys die, its inbox takes no more messages",
		Long: `Delete an agent: its keys die at once, and its inbox takes no more messages. What is in
the inbox can still be read with the API token. Registering the name again begins
a new inbox behind it.`,
		Example: "  agent-chat agents delete alice --yes", Args: takes(1, 1), ValidArgsFunction: a.completeAgent,
		RunE: func(cmd *cobra.Command, args []string) error { return a.deleteAgent(cmd, args[0], yes) },
	}
	del.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.AddCommand(list, show, del)
	return cmd
}

func (a *app) listAgents(cmd *cobra.Command, c *client.Client) error {
	rows := [][]string{{"AGENT", "NAME", "CAPABILITIES", "REGISTERED"}}
	for got, err := range c.Agents(cmd.Context()) {
		if err != nil {
			return err
		}
		if a.json {
			a.object(a.out, got)
			continue
		}
		rows = append(rows, []string{string(got.Agent), got.DisplayName, strings.Join(got.Capabilities, ", "), local(got.CreatedAt)})
	}
	switch {
	case a.json:
	case len(rows) == 1:
		a.note("No agent is registered: agent-chat register AGENT")
	default:
		a.table(rows)
	}
	return nil
}

// profile shows what is set of an agent's profile.
func (a *app) profile(got api.AgentInfo) {
	if a.json {
		a.object(a.out, got)
		return
	}
	rows := cardRows("agent", got.Agent, got.DisplayName, got.Endpoint, got.Capabilities, got.PublicKey, got.Labels)
	a.facts(append(rows, []string{"versions", strings.Join(got.ProtocolVersions, ", ")},
		[]string{"registered", local(got.CreatedAt)}, []string{"updated", local(got.UpdatedAt)}))
}

func (a *app) deleteAgent(cmd *cobra.Command, name string, yes bool) error {
	id, err := parseAgent(name)
	if err != nil {
		return err
	}
	if !yes {
		if !isTerminal(a.in) {
			return usagef("deleting %s can't be undone; add --yes", id)
		}
		fmt.Fprintf(a.errOut, "Delete %s? Its keys die and its inbox takes no more messages. Type its name: ", id)
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		if strings.TrimSpace(line) != string(id) {
			return usagef("nothing was deleted")
		}
	}
	return a.with(func(c *client.Client) error {
		if err := c.DeleteAgent(cmd.Context(), id); err != nil {
			return err
		}
		return a.done("deleted", id, "")
	})
}

// done says that something was done to an agent, or to a key of it.
func (a *app) done(what string, id ident.Agent, key ident.Key) error {
	switch {
	case a.json:
		o := map[string]any{"done": what, "agent": id}
		if key != "" {
			o["key"] = key
		}
		a.object(a.out, o)
	case key != "":
		a.say("%s key %s of %s", what, key, id)
	default:
		a.say("%s %s", what, id)
	}
	return nil
}

// with calls f with a client.
func (a *app) with(f func(*client.Client) error) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func local(t api.Time) string { return t.Local().Format(time.DateTime) }
