package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/ident"
	"agentchat/shared/stream"
)

// The contacts that address books may hold. There are few, so that many are after them.
var cards = []ident.Agent{"cara", "carl"}

// An entry names a contact of an address book.
type entry struct{ owner, id ident.Agent }

// A change is what somebody did to an entry, or saw of it.
type change struct {
	entry
	what    string // put, remove, accept, get
	card    string // the display name that is saved
	from    share
	replace bool

	begun, ended int64 // steps; ended is 0 if the outcome is unknown
	code         api.Code
	was          card // the contact as it was answered
	created      bool
}

// A share is what an accepted card came from.
type share struct {
	id    ident.Message
	agent ident.Agent
	seq   uint64
}

// A card is a contact as far as it matters here. The zero card is none.
type card struct {
	name string
	from share
}

func cardOf(c *api.Contact) card {
	if c == nil {
		return card{}
	}
	s := card{name: c.DisplayName}
	if f := c.AcceptedFrom; f != nil {
		s.from = share{f.MessageID, f.Agent, f.SeqNum}
	}
	return s
}

// change makes a change, or a look, and writes down what came of it.
func (u *user) change(c change, do func() (*api.SaveContactResponse, error)) {
	c.begun = u.w.step.Load()
	about := []string{"contact-" + string(c.owner) + "-" + string(c.id)}
	u.w.note(u.who, "%s %s %q", c.what, about[0], c.card)
	r, err := do()
	c.ended = u.w.step.Load()
	if e, ok := errors.AsType[*client.Error](err); ok {
		c.code = e.Problem.Code
	}
	switch known := map[string][]api.Code{"get": {api.ContactNotFound}, "remove": {api.ContactNotFound}, "accept": {api.ContactExists}}[c.what]; {
	case err == nil && r != nil:
		c.was, c.created = cardOf(&r.Contact), r.Created
	case err == nil, slices.Contains(known, c.code):
	case errors.Is(err, client.ErrUnknown) && c.what != "get":
		c.ended = 0
		u.told(c.what, about, err)
	default:
		u.told(c.what, about, err)
		return // nothing was done
	}
	u.w.count("contact " + c.what)
	u.w.note(u.who, "%s %s: %s %+v, created: %t", c.what, about[0], c.code, c.was, c.created)
	u.w.sync(func() { u.w.changes = append(u.w.changes, c) })
}

// put saves a card, perhaps as it is.
func (u *user) put(ctx context.Context) {
	u.save(ctx, entry{pick(u, lasting[:2]...), pick(u, cards...)})
}

func (u *user) save(ctx context.Context, e entry) {
	c := change{entry: e, what: "put", card: fmt.Sprint("name-", u.rng.IntN(5))}
	u.change(c, func() (*api.SaveContactResponse, error) {
		return u.api.PutContact(ctx, api.PutContactRequest{Agent: c.owner, Contact: c.id, DisplayName: c.card})
	})
}

// removeContact removes a contact.
func (u *user) removeContact(ctx context.Context) {
	c := change{entry: entry{pick(u, lasting[:2]...), pick(u, cards...)}, what: "remove"}
	u.change(c, func() (*api.SaveContactResponse, error) {
		return nil, u.api.RemoveContact(ctx, api.ContactPath{Agent: c.owner, Contact: c.id})
	})
}

// look reads a contact.
func (u *user) look(ctx context.Context) {
	u.get(ctx, entry{pick(u, lasting...), pick(u, cards...)})
}

func (u *user) get(ctx context.Context, e entry) {
	u.change(change{entry: e, what: "get"}, func() (*api.SaveContactResponse, error) {
		c, err := u.api.Contact(ctx, api.ContactPath{Agent: e.owner, Contact: e.id})
		if err != nil {
			return nil, err
		}
		return &api.SaveContactResponse{Contact: *c}, nil
	})
}

// share sends a card to another agent, if there is one.
func (u *user) share(ctx context.Context) {
	from, to, id := pick(u, lasting[:2]...), pick(u, lasting...), pick(u, cards...)
	l := u.newLetter(&letter{kind: api.KindContactShare, from: from, to: to, id: pick(u, "", u.newID()), contact: id, allowed: []api.Code{api.ContactNotFound}})
	l.post = func(ctx context.Context, c *client.Client, mid ident.Message) (*api.SendResponse, error) {
		return c.ShareContact(ctx, api.ShareContactRequest{
			Heading: api.Heading{Agent: from, To: to, ID: mid, ConversationID: ident.Conversation(l.tag)}, ContactID: id,
		})
	}
	u.post(ctx, l, "")
}

// accept saves a card that was shared.
func (u *user) accept(ctx context.Context) {
	now := u.w.step.Load()
	var sent *api.SendResponse
	l := u.earlier(func(l *letter) bool {
		return l.kind == api.KindContactShare && slices.ContainsFunc(l.attempts, func(a attempt) bool { return a.result == stored && a.ended < now })
	})
	if l == nil {
		return
	}
	u.w.sync(func() { sent = l.stored() })
	c := change{entry: entry{l.to, pick(u, cards...)}, what: "accept", replace: u.rng.IntN(2) == 0}
	c.from = share{l.id, l.from, sent.SeqNum}
	c.card = envelopeOf(string(sent.Envelope)).Contact.DisplayName
	u.change(c, func() (*api.SaveContactResponse, error) {
		return u.api.AcceptContact(ctx, api.AcceptContactRequest{Agent: l.to, Message: l.id, From: l.from, As: c.id, Replace: c.replace})
	})
}

// receipt says what became of a message; now and then of none, or to nobody whom it concerns.
func (u *user) receipt(ctx context.Context) {
	now := u.w.step.Load()
	of := u.earlier(func(l *letter) bool {
		return lasts(l.to) && lasts(l.from) && l.id != "" && slices.ContainsFunc(l.attempts, func(a attempt) bool { return a.result == stored && a.ended < now })
	})
	if of == nil {
		return
	}
	l := &letter{kind: api.KindReceipt, from: of.to, to: of.from, id: pick(u, "", u.newID())}
	message := of.id
	switch wrong := u.rng.IntN(10); {
	case of.kind == api.KindReceipt:
		l.refusal = api.ReceiptOfReceipt
	case wrong == 0:
		message, l.refusal = ident.Message("nobody-sent-"+u.who), api.MessageNotFound
	case wrong == 1:
		if l.to = pick(u, lasting...); l.to != of.from {
			l.refusal = api.ReceiptMisaddressed
		}
	}
	if l.refusal != "" {
		l.allowed = []api.Code{api.MessageNotFound, api.ReceiptMisaddressed}
	}
	l = u.newLetter(l)
	status := pick(u, api.ReceiptStatuses()...)
	l.post = func(ctx context.Context, c *client.Client, id ident.Message) (*api.SendResponse, error) {
		return c.SendReceipt(ctx, api.SendReceiptRequest{
			Heading:   api.Heading{Agent: l.from, To: l.to, ID: id, ConversationID: ident.Conversation(l.tag)},
			MessageID: message, Status: status,
		})
	}
	u.post(ctx, l, "")
}

// lookAtAll reads every contact that there may be.
func (u *user) lookAtAll(ctx context.Context) {
	for _, owner := range lasting {
		for _, id := range cards {
			u.get(ctx, entry{owner, id})
		}
	}
}

// book is what may happen to one entry, in any order that the history allows.
var book = porcupine.Model{
	Init: func() any { return card{} },
	Step: func(state, _, output any) (bool, any) {
		is, c := state.(card), output.(change)
		next, code := is, api.Code("")
		switch {
		case c.what == "get", c.what == "remove":
			if is == (card{}) {
				code = api.ContactNotFound
			} else if c.what == "remove" {
				next = card{}
			}
		case c.what == "put" && is.name != c.card:
			next = card{name: c.card}
		case c.what == "accept" && is.from == c.from:
		case c.what == "accept" && is != (card{}) && !c.replace && is.name != c.card:
			code = api.ContactExists
		case c.what == "accept":
			next = card{c.card, c.from}
		}
		told := c.ended == 0 || code == c.code && (code != "" || c.what == "remove" || next == c.was && c.created == (is == card{} && c.what != "get"))
		return told, next
	},
	Equal: func(a, b any) bool { return a == b },
}

// checkContacts checks that there is one order of everything that was done to each
// contact which explains all that anybody was told.
func (w *world) checkContacts() {
	all := map[entry][]porcupine.Operation{}
	for i, c := range w.changes {
		o := porcupine.Operation{ClientId: i, Output: c, Call: 2 * c.begun, Return: 2*c.ended + 1}
		if c.ended == 0 {
			o.Return = math.MaxInt64 // it may take effect at any time, or never, which is after everything
		}
		all[c.entry] = append(all[c.entry], o)
	}
	for e, ops := range all {
		if got := porcupine.CheckOperationsTimeout(book, ops, time.Minute); got == porcupine.Illegal {
			w.fail([]string{"contact-" + string(e.owner) + "-" + string(e.id)}, "nothing explains what was told of the contact %s of %s", e.id, e.owner)
		}
	}
}

// checkOrigins checks that every receipt has its message, and every card that was
// ever accepted its share.
func (w *world) checkOrigins(inboxes map[ident.Agent][]stream.Entry) {
	for _, a := range w.agents {
		for _, e := range inboxes[a] {
			r := envelopeOf(string(e.Body))
			if r.Kind == api.KindReceipt && !slices.ContainsFunc(inboxes[r.From], func(m stream.Entry) bool {
				of := envelopeOf(string(m.Body))
				return of.ID == r.Receipt.MessageID && of.From == a && of.Kind != api.KindReceipt
			}) {
				w.fail([]string{string(r.ConversationID)}, "a receipt of %s stands in the inbox of %s; no message does in that of %s", r.Receipt.MessageID, a, r.From)
			}
		}
	}
	for _, owner := range lasting {
		for _, id := range cards {
			for ev, err := range w.user(-3).api.ContactHistory(w.t.Context(), api.ContactHistoryRequest{Agent: owner, Contact: id}) {
				about := []string{"contact-" + string(owner) + "-" + string(id)}
				if err != nil {
					w.fail(about, "the history of %s of %s: %v", id, owner, err)
					break
				}
				if f := ev.AcceptedFrom; f != nil && !slices.ContainsFunc(inboxes[owner], func(m stream.Entry) bool {
					s := envelopeOf(string(m.Body))
					return m.Seq == f.SeqNum && s.ID == f.MessageID && s.From == f.Agent && s.Kind == api.KindContactShare &&
						s.Contact.DisplayName == ev.Contact.DisplayName
				}) {
					w.fail(about, "%s of %s was accepted from %+v, and nothing like it was shared", id, owner, *f)
				}
			}
		}
	}
}
