package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/env"
	"agentchat/shared/ident"
)

// A play is the demo's story: alice writes, bob follows and is cut off; a receipt,
// a card that is handed over, and an auditor who sees it all.
type play struct {
	*app
	alice   *client.Client // for both, with the API token
	bob     *client.Client
	auditor *client.Client
	wire    *cuttable // bob's
	lines   []string
	seen    int
	last    ident.Message // that bob got
}

// play lets alice send and bob follow, cuts bob off in between, and fails unless
// he has got everything once and in order. admin is an admin token.
func (a *app) play(ctx context.Context, conf env.ClientConfig, admin string) error {
	p := &play{app: a, wire: &cuttable{}, lines: []string{
		"Hi Bob. Can you look at result 7?",
		"It is the one with the odd peak at 3 Hz.",
		"I have marked the place in the notebook.",
		"No hurry, it will still be here tomorrow.",
	}}
	var err error
	if p.alice, err = a.dial(conf, client.Options{}); err != nil {
		return err
	}
	defer p.alice.Close()
	if p.bob, err = a.dial(conf, client.Options{HTTP: &http.Client{Transport: p.wire.transport()}}); err != nil {
		return err
	}
	defer p.wire.cut()
	conf.Token = admin
	if p.auditor, err = a.dial(conf, client.Options{}); err != nil {
		return err
	}
	defer p.auditor.Close()

	p.scene("Two agents register.")
	for _, id := range []ident.Agent{"alice", "bob"} {
		if _, err := p.alice.Register(ctx, api.RegisterRequest{Agent: id}); err != nil {
			return err
		}
		p.event("", "%s is registered", id)
	}
	p.scene("Bob follows his inbox; Alice sends. A message is durable when her call returns.")
	if err := p.send(ctx, 0); err != nil {
		return err
	}
	for d, err := range p.bob.Follow(ctx, api.InboxRequest{Agent: "bob"}, p.connection) {
		if err == nil {
			err = p.received(ctx, d)
		}
		if err != nil {
			return err
		}
		if p.seen == len(p.lines) {
			p.scene("Everything came once and in order, though the connection broke in between.")
			return errors.Join(p.handOver(ctx), p.audit(ctx))
		}
	}
	return errors.New("bob's stream ended early")
}

// received checks what bob got, and goes on with the story: after the second
// message he is cut off, and the rest is sent while he is away.
func (p *play) received(ctx context.Context, d api.Delivery) error {
	var e envelope
	if err := json.Unmarshal(d.Envelope, &e); err != nil || e.Message == nil || e.Message.Text == nil || *e.Message.Text != p.lines[p.seen] {
		return fmt.Errorf("bob got %s at %d; want %q", d.Envelope, d.SeqNum, p.lines[p.seen])
	}
	if p.json {
		p.object(p.out, d)
	} else {
		p.delivery(d)
	}
	p.seen++
	p.last = ident.Message(e.ID)
	if p.seen < 2 {
		return p.send(ctx, p.seen)
	}
	if p.seen > 2 {
		return nil
	}
	p.scene("Bob's connection is cut. Alice goes on; she notices nothing.")
	p.wire.cut()
	for i := p.seen; i < len(p.lines); i++ {
		if err := p.send(ctx, i); err != nil {
			return err
		}
		p.event("", "alice sent: %s", p.lines[i])
	}
	return nil
}

func (p *play) send(ctx context.Context, i int) error {
	_, err := p.alice.Send(ctx, api.SendRequest{Heading: api.Heading{Agent: "alice", To: "bob", ConversationID: "result-7"}, Text: &p.lines[i]})
	return err
}

// handOver lets bob answer with a receipt, and keep a card that alice sends.
func (p *play) handOver(ctx context.Context) error {
	p.scene("Bob sends a receipt. Alice hands him Carol's card, and he keeps it.")
	receipt := api.SendReceiptRequest{MessageID: p.last, Status: api.ReceiptProcessed, Detail: "It is the fan."}
	receipt.Agent, receipt.To = "bob", "alice"
	if _, err := p.alice.SendReceipt(ctx, receipt); err != nil {
		return err
	}
	p.event("", "bob to alice: %s, %s", receipt.Status, receipt.Detail)
	card := api.PutContactRequest{Agent: "alice", Contact: "carol", DisplayName: "Carol", Capabilities: []string{"vibrations"}}
	if _, err := p.alice.PutContact(ctx, card); err != nil {
		return err
	}
	share := api.ShareContactRequest{ContactID: "carol"}
	share.Agent, share.To, share.ID = "alice", "bob", client.NewID(rand.Reader)
	if _, err := p.alice.ShareContact(ctx, share); err != nil {
		return err
	}
	got, err := p.alice.AcceptContact(ctx, api.AcceptContactRequest{Agent: "bob", Message: share.ID})
	if err != nil {
		return err
	}
	p.event("", "bob knows %s now, from %s", got.DisplayName, got.AcceptedFrom.Agent)
	return nil
}

// audit shows all of it as an auditor sees it.
func (p *play) audit(ctx context.Context) error {
	p.scene("An auditor sees all inboxes, and writes to none: agent-chat monitor --pretty")
	show := p.monitored(true)
	for page, err := range p.auditor.MonitorPages(ctx, api.MonitorRequest{}) {
		if err != nil {
			return err
		}
		for _, d := range page.Deliveries {
			show(client.MonitorEvent{Delivery: &d})
		}
	}
	return nil
}

// connection tells what becomes of bob's connection.
func (p *play) connection(s client.State) {
	switch {
	case !s.Connected:
		p.event(yellow, "bob lost his connection; he tries again in %v, from position %s", s.Pause.Round(100*time.Millisecond), cmp.Or(s.Cursor, "0"))
	case p.seen > 0:
		p.event(green, "bob is connected again, from position %s", s.Cursor)
	}
}

func (p *play) scene(s string) {
	if p.json {
		p.object(p.out, map[string]string{"scene": s})
		return
	}
	fmt.Fprintln(p.out, "\n"+p.paint(bold, s))
}

func (p *play) event(st style, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if p.json {
		p.object(p.out, map[string]string{"event": s})
		return
	}
	fmt.Fprintln(p.out, "    "+p.paint(st, inert(s)))
}

// A cuttable is a network whose connections can be cut, all at once.
type cuttable struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cuttable) transport() *http.Transport {
	var d net.Dialer
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err == nil {
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
		}
		return conn, err
	}}
}

func (c *cuttable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close() // that is what a cut is
	}
	c.conns = nil
}
