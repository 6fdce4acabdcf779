package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
)

var noon = time.Date(2026, 7, 19, 12, 0, 0, 0, time.UTC)

func seen(inbox ident.Agent, ago time.Duration, envelope string) client.MonitorEvent {
	return client.MonitorEvent{Delivery: &api.MonitorDelivery{
		Inbox: inbox, Delivery: api.Delivery{Timestamp: api.Time{Time: noon.Add(-ago)}, Envelope: []byte(envelope)},
	}}
}

func message(from, text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"kind":"message","from":%q,"message":{"text":%s}}`, from, b)
}

// A line for each event: it fits into the terminal, and what others wrote in it
// is inert and stays on it.
func TestPretty(t *testing.T) {
	events := []client.MonitorEvent{
		seen("bob", 0, message("alice", "Please inspect this result of the long experiment")),
		seen("carol-the-third", 90*time.Second, message("bob", "first\n  line two\r\n\x1b[2J\u202e")),
		seen("bob", 3*time.Hour, message("alice", strings.Repeat("大", 50))),
		seen("bob", 50*time.Hour, `{"kind":"contact.share","id":"m1","from":"alice","contact":{"id":"carol","display_name":"Ca\u001brol","endpoint":"https://h\u202e"}}`),
		seen("alice", 500*24*time.Hour, `{"kind":"receipt","from":"bob","receipt":{"message_id":"m1","status":"rejected","detail":"no\naccess"}}`),
		seen("alice", 5000*24*time.Hour, `{"kind":"a.kind.of.later","from":"bob"}`),
		seen("alice", -time.Hour, `{"kind":"message","from":7}`),
		{Gap: &api.GapEvent{Inbox: "bob", Gap: api.Gap{From: 3, To: 8, Code: api.HistoryTrimmed}}},
		{Unavailable: &api.UnavailableEvent{Inbox: "bob", Unreachable: api.Unreachable{Status: 503, Code: api.Unavailable, Detail: "the store\x1b[2J is away"}}},
	}
	show := func(width int) (lines []string) {
		var out bytes.Buffer
		v := &prettyView{app: &app{out: &out, getenv: func(string) string { return "" }}, width: func() int { return width }}
		for _, e := range events {
			v.show(e, noon)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	want := []string{
		" now  alice → bob  message  Please inspect this result of t…",
		"  1m  bob → carol-the-third  message  first line two \\x1b[2…",
		"  3h  alice → bob            message  大大大大大大大大大大…",
		"  2d  alice → bob            share    contact carol (Ca\\x1b…",
		"500d  bob → alice            receipt  rejected m1: no access",
		" 13y  bob → alice            a.kind…  {\"kind\":\"a.kind.of.la…",
		" now  ? → alice              ?        (unreadable: 0 bytes;…",
		"gap: 5 records of bob can't be read any more, from position…",
		"unavailable: bob can't be read for now: the store\\x1b[2J is…",
	}
	if diff := cmp.Diff(want, show(60)); diff != "" {
		t.Errorf("in 60 cells (-want +got):\n%s", diff)
	}
	for _, width := range []int{0, 50, 60, 61, 200} {
		lines := show(width)
		if len(lines) != len(events) {
			t.Errorf("in %d cells: %d lines; want %d", width, len(lines), len(events))
		}
		for _, l := range lines {
			if cells := uniseg.StringWidth(l); width > 0 && cells > width || strings.ContainsFunc(l, obeyed) {
				t.Errorf("in %d cells: %q of %d", width, l, cells)
			}
		}
	}
}
