package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

// maxWhose is the widest that the column of who to whom becomes.
const maxWhose = 40

// A prettyView shows the events of a monitor as lines of columns.
type prettyView struct {
	*app
	width func() int // of the terminal, in cells; 0: there is none
	whose int        // cells of that column: as wide as the widest so far
}

// show writes one event: age, who to whom, kind, and as much of the text as fits
// into the terminal's line. What is no terminal takes more.
func (v *prettyView) show(e client.MonitorEvent, now time.Time) {
	switch {
	case e.Gap != nil:
		fmt.Fprintln(v.out, v.paint(red, v.fit(gapText(e.Gap), 0)))
		return
	case e.Unavailable != nil:
		fmt.Fprintln(v.out, v.paint(red, v.fit(unavailableText(e.Unavailable), 0)))
		return
	}
	env, parts := told(e.Delivery.Delivery)
	whose := cut(inertLine(env.whose(e.Delivery.Inbox)), maxWhose)
	v.whose = max(v.whose, uniseg.StringWidth(whose))
	kind, look := kindOf(env.Kind)
	before := fmt.Sprintf("%4s  ", age(now.Sub(e.Delivery.Timestamp.Time)))
	text := v.fit(oneLine(parts), len(before)+v.whose+len("  message  "))
	fmt.Fprintln(v.out, strings.TrimRight(fmt.Sprintf("%s%s  %s  %s",
		v.paint(dim, before), v.paint(bold, pad(whose, v.whose)), v.paint(look, pad(kind, len("message"))), text), " "))
}

// fit returns as much of s as fits into the rest of a line behind so many cells.
func (v *prettyView) fit(s string, behind int) string {
	if width := v.width(); width > 0 {
		return cut(s, max(width-behind, 1))
	}
	return s
}

// whose returns who sent the envelope to whom, of an envelope in inbox.
func (e envelope) whose(inbox ident.Agent) string {
	return cmp.Or(e.From, "?") + " → " + string(inbox)
}

// kindOf returns what a kind is called in a column of seven cells, and its look.
func kindOf(kind string) (string, style) {
	switch api.Kind(kind) {
	case api.KindMessage:
		return "message", ""
	case api.KindContactShare:
		return "share", yellow
	case api.KindReceipt:
		return "receipt", green
	}
	return cut(inertLine(cmp.Or(kind, "?")), len("message")), red
}

// oneLine returns the beginning of a text, inert and without line breaks.
func oneLine(parts []string) string {
	s := strings.Join(parts, " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return inertLine(strings.Join(strings.Fields(s), " "))
}

// age returns a duration in at most four characters; that of what has just come,
// or of a clock ahead of ours, is "now".
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 1000*24*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return fmt.Sprintf("%dy", d/(365*24*time.Hour))
}

// A progress tells on standard error, if that is a terminal and standard output is
// none, how far a long reading has come.
type progress struct {
	*app
	shown int
	drawn bool
}

func (p *progress) draw(ds []api.MonitorDelivery) {
	if len(ds) == 0 || !isTerminal(p.errOut) || isTerminal(p.out) {
		return
	}
	p.drawn = true
	fmt.Fprintf(p.errOut, "\r%d deliveries, up to %s", p.shown, local(ds[len(ds)-1].Timestamp))
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.errOut, "\r\x1b[K")
		p.drawn = false
	}
}
