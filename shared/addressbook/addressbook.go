// Package addressbook keeps the agents' address books: it saves, lists, shares
// and accepts cards. A book belongs to one registration of an agent: who is
// registered again begins with an empty one.
package addressbook

import (
	"context"

	"agentchat/shared/agent"
	"agentchat/shared/api"
	"agentchat/shared/contact"
	"agentchat/shared/ident"
	"agentchat/shared/journal"
	"agentchat/shared/mailbox"
	"agentchat/shared/stream"
	"agentchat/shared/valid"
)

// Books are the address books in a store. Their methods may be called
// concurrently. Their errors are *api.Error, but for faults of ours;
// AgentNotRegistered is one of each.
type Books struct {
	store   stream.Store
	journal *journal.Journal
	mail    *mailbox.Mailbox
	fold    *journal.Fold[*contact.Book]
}

// New returns the address books of the agents whose registrations mail has.
func New(store stream.Store, j *journal.Journal, mail *mailbox.Mailbox) *Books {
	return &Books{store: store, journal: j, mail: mail, fold: &journal.Fold[*contact.Book]{
		New:      func() *contact.Book { return new(contact.Book) },
		Apply:    (*contact.Book).Apply,
		Size:     (*contact.Book).Size,
		Format:   contact.Format,
		Snapshot: (*contact.Book).Snapshot,
		Restore:  contact.Restore,
	}}
}

// Get returns a contact as of now; ContactNotFound if there is none.
func (b *Books) Get(ctx context.Context, owner, id ident.Agent) (*api.Contact, error) {
	book, err := b.book(ctx, owner)
	if err != nil {
		return nil, err
	}
	c, ok := book.Get(id)
	if !ok {
		return nil, contact.NotFound(id)
	}
	return c, nil
}

// List returns a page of an address book as of now.
func (b *Books) List(ctx context.Context, owner ident.Agent, q contact.Query) (*api.ListContactsResponse, error) {
	book, err := b.book(ctx, owner)
	if err != nil {
		return nil, err
	}
	return book.Page(q), nil
}

// Put saves a card, in the place of the one under its id. Repeating it changes nothing.
func (b *Books) Put(ctx context.Context, owner ident.Agent, c api.Card) (*api.SaveContactResponse, error) {
	name, err := b.name(ctx, owner)
	if err != nil {
		return nil, err
	}
	return b.save(ctx, name, c.ID, contact.Put(c))
}

// Remove removes a contact; ContactNotFound if there is none. Its history stays.
func (b *Books) Remove(ctx context.Context, owner, id ident.Agent) error {
	name, err := b.name(ctx, owner)
	if err == nil {
		_, err = journal.Update(ctx, b.journal, name, b.fold, contact.Remove(id))
	}
	return err
}

// Share sends d, a contact.share that names the contact, with the card as it is
// now. What an earlier send with d's id has stored is the answer also when the
// contact was changed or removed meanwhile.
func (b *Books) Share(ctx context.Context, d mailbox.Draft) (*api.SendResponse, error) {
	c, err := b.Get(ctx, d.From, d.Contact.ID)
	if err != nil {
		return b.mail.Recall(ctx, d, err)
	}
	d.Contact = &c.Card
	return b.mail.Send(ctx, d)
}

// Accept saves the card of a contact.share that the agent has received, as it was
// sent. Accepting the same share again changes nothing, and of several who do so
// at a time one saves it. See mailbox.FindShare and contact.Accept for what is refused.
func (b *Books) Accept(ctx context.Context, r *api.AcceptContactRequest) (*api.SaveContactResponse, error) {
	name, err := b.name(ctx, r.Agent) // before the share, which is not to be of a former registration
	if err != nil {
		return nil, err
	}
	s, err := b.mail.FindShare(ctx, r.Agent, r.Message, r.From, r.At)
	if err != nil {
		return nil, err
	}
	card, from := s.Card, api.AcceptedFrom{MessageID: r.Message, Agent: s.From, SeqNum: s.SeqNum}
	if r.As != "" && r.As != card.ID {
		card.ID, from.ContactID = r.As, card.ID
	}
	// What is in an inbox was not necessarily written by this version.
	if err := valid.Card(&card); err != nil {
		return nil, api.Errorf(api.NotAContactShare, "what was received as %s holds a card that can't be saved: %s", r.Message, api.AsError(err).Detail)
	}
	return b.save(ctx, name, card.ID, contact.Accept(card, from, r.Replace))
}

// save takes a decision that leaves a contact id, and says whether it is new.
func (b *Books) save(ctx context.Context, name stream.Name, id ident.Agent, decide contact.Decision) (*api.SaveContactResponse, error) {
	var known bool
	book, err := journal.Update(ctx, b.journal, name, b.fold, func(was *contact.Book) ([]stream.Record, error) {
		_, known = was.Get(id)
		return decide(was)
	})
	if err != nil {
		return nil, err
	}
	c, _ := book.Get(id) // the book right after the decision
	return &api.SaveContactResponse{Contact: *c, Made: api.Made{Created: !known}}, nil
}

func (b *Books) book(ctx context.Context, owner ident.Agent) (*contact.Book, error) {
	name, err := b.name(ctx, owner)
	if err != nil {
		return nil, err
	}
	return journal.Read(ctx, b.journal, name, b.fold, 0)
}

// name returns the stream of owner's book. It goes by the registration as of
// now: what is saved must not be lost with a former one.
func (b *Books) name(ctx context.Context, owner ident.Agent) (stream.Name, error) {
	s, err := b.mail.Registration(ctx, owner, 0)
	if err == nil && s.Phase != agent.Registered {
		err = agent.NotRegistered(owner)
	}
	return stream.Contacts(owner, s.Generation), err
}
