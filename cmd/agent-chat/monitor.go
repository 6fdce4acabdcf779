package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/ident"
)

type monitorFlags struct {
	filter
	agents         []string
	cursor         string
	follow, pretty bool
	fresh          bool
	limit          int
}

func (a *app) monitorCommand() *cobra.Command {
	var f monitorFlags
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Read all inboxes, or follow them live",
		Long: `Read all inboxes at once, or with --follow read them and then what comes, until
interrupted. It takes an admin token in AGENT_CHAT_ADMIN_TOKEN, and no other.

In an inbox the order is that of the positions; across inboxes it is by time, which
proves nothing. --pretty shows one line for each envelope, cut to the terminal: its age,
who to whom, the kind, the beginning of the text. --json has all of it, and with each
delivery the cursor that reads on behind it.

--follow resumes by itself behind the last delivery that was shown, as "inbox --follow"
does, and ends with exit status 3 when the server refuses for good. Records that can't
be read any more are told as a gap, inboxes that can't be read for now as unavailable.`,
		Example: `  AGENT_CHAT_ADMIN_TOKEN='...' agent-chat monitor --follow --new --pretty
  AGENT_CHAT_ADMIN_TOKEN='...' agent-chat monitor --cursor '<opaque>' --follow
  agent-chat monitor --agent bob --agent carol --kind receipt --json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.monitor(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "follow live")
	flags.StringVar(&f.cursor, "cursor", "", "read on behind this `cursor` (default: begin with the oldest messages)")
	flags.BoolVar(&f.fresh, "new", false, "begin behind what is there now")
	flags.VarP(number[int]{&f.limit, 31}, "limit", "n", "show at most this many `deliveries` without --follow; 0 is all")
	flags.StringArrayVar(&f.agents, "agent", nil, "only the inbox of this `agent`; repeatable")
	f.flags(a, cmd)
	flags.BoolVar(&f.pretty, "pretty", false, "one line each, cut to the terminal")
	cmd.MarkFlagsMutuallyExclusive("cursor", "new")
	completeFlag(cmd, "agent", a.completeAgents)
	return cmd
}

func (a *app) monitor(ctx context.Context, f monitorFlags) (err error) {
	if a.json && f.pretty {
		return usagef("--json and --pretty: one of the two")
	}
	req := api.MonitorRequest{Cursor: f.cursor}
	if req.Agents, err = parseAgents(f.agents); err != nil {
		return err
	}
	if req.Kind, req.From, req.ConversationID, err = f.read(); err != nil {
		return err
	}
	c, err := a.auditor(client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	if f.fresh {
		page, err := c.Monitor(ctx, api.MonitorRequest{Agents: req.Agents, Latest: new(true)})
		if err != nil {
			return err
		}
		req.Cursor = page.NextCursor
	}
	show := a.monitored(f.pretty)
	if !f.follow {
		return a.audit(ctx, c, req, f.limit, show)
	}
	for e, err := range c.FollowMonitor(ctx, req, a.connection("monitor")) {
		if err != nil {
			return err
		}
		show(e)
	}
	return nil
}

// auditor returns a client that has the admin token.
func (a *app) auditor(o client.Options) (*client.Client, error) {
	conf, err := a.remote()
	if err != nil {
		return nil, err
	}
	if conf.Token, err = env.Auditor(a.getenv); err != nil {
		return nil, usage{err}
	}
	if conf.Token == "" {
		return nil, usagef("%s is not set: the token of an auditor, which the server has under the same name (agent-chat dev says where its own is)", env.AdminToken)
	}
	return a.dial(conf, o)
}

// monitored returns what shows the events of a monitor.
func (a *app) monitored(pretty bool) func(client.MonitorEvent) {
	p := &prettyView{app: a, width: a.width}
	return func(e client.MonitorEvent) {
		switch {
		case a.json && e.Delivery != nil:
			a.object(a.out, e.Delivery)
		case a.json:
			a.object(a.out, e)
		case pretty:
			p.show(e, time.Now())
		case e.Delivery != nil:
			env, parts := told(e.Delivery.Delivery)
			a.line(e.Delivery.Delivery, env.whose(e.Delivery.Inbox), env.Conversation, parts)
		case e.Gap != nil:
			fmt.Fprintln(a.out, a.paint(red, gapText(e.Gap)))
		case e.Unavailable != nil:
			fmt.Fprintln(a.out, a.paint(red, unavailableText(e.Unavailable)))
		}
	}
}

// The texts of what is no delivery. They are inert.

func gapText(g *api.GapEvent) string {
	return inertLine(fmt.Sprintf("gap: %d records of %s can't be read any more, from position %d up to %d (%s)", g.To-g.From, g.Inbox, g.From, g.To, g.Code))
}

func unavailableText(u *api.UnavailableEvent) string {
	return inertLine(fmt.Sprintf("unavailable: %s can't be read for now: %s [%d %s]", u.Inbox, u.Detail, u.Status, u.Code))
}

// audit shows up to limit deliveries (0: all), page after page, and where to go on.
func (a *app) audit(ctx context.Context, c *client.Client, req api.MonitorRequest, limit int, show func(client.MonitorEvent)) error {
	size := api.MaxPageItems
	if limit > 0 {
		size = min(limit, size)
	}
	req.Limit = &size
	bar := progress{app: a}
	defer bar.clear()
	behind := req.Cursor
	var unread map[ident.Agent]api.Unreachable // as the last page has them
	for page, err := range c.MonitorPages(ctx, req) {
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(page.Gaps)) {
			show(client.MonitorEvent{Gap: &api.GapEvent{Inbox: id, Gap: page.Gaps[id]}})
		}
		for _, d := range page.Deliveries {
			if limit > 0 && bar.shown == limit {
				bar.clear()
				a.note("There is more: --cursor %s", behind)
				return nil
			}
			behind = d.Cursor
			bar.shown++
			show(client.MonitorEvent{Delivery: &d})
		}
		behind, unread = page.NextCursor, page.Unavailable
		bar.draw(page.Deliveries)
	}
	bar.clear()
	for _, id := range slices.Sorted(maps.Keys(unread)) {
		show(client.MonitorEvent{Unavailable: &api.UnavailableEvent{Inbox: id, Unreachable: unread[id]}})
	}
	switch {
	case len(unread) > 0:
		return fmt.Errorf("%w: %d inboxes could not be read; read on later with --cursor %s", errIncomplete, len(unread), behind)
	case a.json:
	case bar.shown == 0:
		a.note("Nothing is there.")
	default:
		a.note("Read on with --cursor %s", behind)
	}
	return nil
}
