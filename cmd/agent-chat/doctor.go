package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/signed"
)

// maxSkew is how far clocks may be apart before people are puzzled by times. Nothing
// that is stored depends on the client's clock.
const maxSkew = 30 * time.Second

// A finding is what one check of doctor came to.
type finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Warning bool   `json:"warning,omitempty"` // ok, but worth a look
	Detail  string `json:"detail"`
	Advice  string `json:"advice,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check URL, token, store, clock and limits, and say what to do", Args: takes(0, 0),
		Long: `Check, from this side, that the server can be reached, that its store works, that clocks
agree, that chats can be signed, that the token is known, what the limits are, whether the
agent in AGENT_CHAT_AGENT is registered, and whether the token in AGENT_CHAT_ADMIN_TOKEN
opens the monitor. It changes nothing.

The exit status is 0 if all is well, else that of the first failure.`,
		Example: "  agent-chat doctor\n  agent-chat doctor --url https://chat.example.net --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.remote()
			if err != nil {
				return err
			}
			return a.examine(cmd.Context(), conf)
		},
	}
}

// examine runs the checks in order. A server that can't be reached makes the
// later ones pointless.
func (a *app) examine(ctx context.Context, conf env.ClientConfig) error {
	var skew time.Duration
	c, err := a.dial(conf, client.Options{Tries: 1, Trace: func(t client.Trace) {
		if !t.Date.IsZero() {
			skew = time.Since(t.Date)
		}
	}})
	if err != nil {
		return err
	}
	defer c.Close()

	var first error
	check := func(name string, f func() (detail string, warning bool, err error)) bool {
		detail, warning, err := f()
		found := finding{Check: name, OK: err == nil, Warning: warning, Detail: detail}
		if err != nil {
			if first == nil {
				first = err
			}
			found.Detail, found.Advice = a.describe(err), strings.TrimSuffix(advice(err), seeDoctor)
		}
		a.find(found)
		return err == nil
	}
	reached := check("server", func() (string, bool, error) {
		h, err := c.Health(ctx)
		if err != nil {
			return "", false, err
		}
		return fmt.Sprintf("%s answers, version %s", conf.URL, h.Version), false, nil
	})
	if !reached {
		return quiet{first}
	}
	check("transport", func() (string, bool, error) { return transportOf(conf.URL) })
	ready, err := c.Ready(ctx)
	check("clock", func() (string, bool, error) { return clockOf(skew, ready) })
	check("store", func() (string, bool, error) { return "the store answers and is configured", false, err })
	if signing, ok := signingOf(ctx, c, conf, ready); ok {
		check("signing", signing)
	}
	check("token", func() (string, bool, error) { return tokenOf(ctx, c, conf) })
	check("limits", func() (string, bool, error) { return limitsOf(ctx, c) })
	if conf.Agent != "" && conf.Token != "" {
		check("agent", func() (string, bool, error) {
			got, err := c.Agent(ctx, conf.Agent)
			if err != nil {
				return "", false, err
			}
			return fmt.Sprintf("%s is registered since %s", got.Agent, local(got.CreatedAt)), false, nil
		})
	}
	if a.getenv(env.AdminToken) != "" {
		check("monitor", func() (string, bool, error) { return a.monitorOf(ctx) })
	}
	if first != nil {
		return quiet{first}
	}
	return nil
}

// find writes a finding as it is made.
func (a *app) find(f finding) {
	if a.json {
		a.object(a.out, f)
		return
	}
	mark := a.paint(green, "ok  ")
	switch {
	case !f.OK:
		mark = a.paint(red, "FAIL")
	case f.Warning:
		mark = a.paint(yellow, "note")
	}
	fmt.Fprintf(a.out, "%s  %-9s  %s\n", mark, f.Check, inertLine(f.Detail))
	if f.Advice != "" {
		fmt.Fprintf(a.out, "                 %s\n", inertLine(f.Advice))
	}
}

// quiet is an error that was told already.
type quiet struct{ error }

func (q quiet) Unwrap() error { return q.error }

func transportOf(base string) (string, bool, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "", false, usage{err}
	case u.Scheme == "https":
		return "encrypted", false, nil
	case u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback():
		return "plain HTTP on this machine", false, nil
	}
	return "plain HTTP to another machine: whoever is on the way reads the token; use https", true, nil
}

// clockOf compares this machine's clock with the server's, of which ready may know
// that it is not the store's.
func clockOf(skew time.Duration, ready *api.Readiness) (string, bool, error) {
	var wrong []string
	if part, _ := component(ready, api.ClockComponent); part.Reason != "" {
		wrong = append(wrong, part.Reason)
	}
	// The Date header has whole seconds.
	if skew = skew.Truncate(time.Second); skew.Abs() > maxSkew {
		wrong = append(wrong, fmt.Sprintf("differs from the server's by %v; set the clock of the one that is wrong", skew.Abs()))
	}
	if len(wrong) == 0 {
		return "agrees with the server's", false, nil
	}
	return strings.Join(wrong, "; "), true, nil
}

// component returns what a server says of a part of it; false if it does not have that.
func component(ready *api.Readiness, name api.ComponentName) (api.Component, bool) {
	if ready == nil {
		return api.Component{}, false
	}
	i := slices.IndexFunc(ready.Components, func(c api.Component) bool { return c.Name == name })
	if i < 0 {
		return api.Component{}, false
	}
	return ready.Components[i], true
}

// What signingOf asks for, and says.
const (
	noChat     = "chat_00000000000000000000000000000000"
	canSign    = "what is written to chats can be signed"
	howToSign  = "; agent-chat signing-keys rotate adds a key that signs at once"
	noValidKey = "none of the keys that are published is valid now: nothing is written to signed chats" + howToSign
)

// signingOf returns the check of the keys of signed chats: what the process that
// answered says of them, or, where others have them, what they publish. There is
// none where there are no chats, or no answer.
func signingOf(ctx context.Context, c *client.Client, conf env.ClientConfig, ready *api.Readiness) (check func() (string, bool, error), ok bool) {
	if ready == nil {
		return nil, false
	}
	if part, ok := component(ready, api.SigningComponent); ok {
		return func() (string, bool, error) {
			if part.Status != api.OK {
				return part.Reason + howToSign, true, nil
			}
			return canSign, false, nil
		}, true
	}
	published, err := c.PublicKeys(ctx)
	var keys *signed.Set
	if err == nil {
		keys, err = signed.ParseSet(published)
	}
	if err == nil && keys.Empty() {
		// Those that were revoked are not published: a server that has them has chats.
		_, asked := c.Chat(ctx, api.ChatRequest{Chat: noChat, AgentID: cmp.Or(conf.Agent, "doctor")})
		if e, ok := errors.AsType[*client.Error](asked); !ok || e.Problem.Code != api.ChatNotFound {
			return nil, false
		}
	}
	return func() (string, bool, error) {
		if err != nil {
			return "", false, err
		}
		now := time.Now()
		if !slices.ContainsFunc(keys.Keys(), func(k *signed.Key) bool { return k.Usable(signed.ES256, now) == nil }) {
			return noValidKey, true, nil
		}
		return canSign, false, nil
	}, true
}

func tokenOf(ctx context.Context, c *client.Client, conf env.ClientConfig) (string, bool, error) {
	if conf.Token == "" {
		return "", false, usagef("AGENT_CHAT_TOKEN is not set; agent-chat dev says where its token is")
	}
	got, err := c.WhoAmI(ctx)
	switch {
	case err != nil:
		return "", false, err
	case got.Agent == nil:
		return "the API token", false, nil
	case conf.Agent != "" && conf.Agent != *got.Agent:
		return fmt.Sprintf("a key of %s, but AGENT_CHAT_AGENT is %s", *got.Agent, conf.Agent), true, nil
	}
	return "a key of " + string(*got.Agent), false, nil
}

func (a *app) monitorOf(ctx context.Context) (string, bool, error) {
	c, err := a.auditor(client.Options{Tries: 1})
	if err != nil {
		return "", false, err
	}
	defer c.Close()
	one := 1
	page, err := c.Monitor(ctx, api.MonitorRequest{Limit: &one})
	if err != nil {
		return "", false, err
	}
	detail := fmt.Sprintf("the admin token opens it; it sees %d inboxes", len(page.Tails))
	if n := len(page.Unavailable); n > 0 {
		return fmt.Sprintf("%s, %d of them can't be read for now", detail, n), true, nil
	}
	return detail, false, nil
}

func limitsOf(ctx context.Context, c *client.Client) (string, bool, error) {
	l, err := c.Limits(ctx)
	if err != nil {
		return "", false, err
	}
	kept := "for ever"
	if l.InboxRetentionDays > 0 {
		kept = fmt.Sprintf("%d days", l.InboxRetentionDays)
	}
	detail := fmt.Sprintf("text %d KiB, data %d KiB, %d messages a page; inboxes keep %s", l.TextBytes>>10, l.DataBytes>>10, l.PageItems, kept)
	if l.TextBytes != api.MaxTextBytes || l.DataBytes != api.MaxDataBytes {
		return detail + "; other than this version's", true, nil
	}
	return detail, false, nil
}
