// Package contacts is the family of address books: cards are saved, shared with
// other agents, and accepted from them.
package contacts

import (
	"context"
	"net/http"

	"agentchat/shared/addressbook"
	"agentchat/shared/api"
	"agentchat/shared/auth"
	"agentchat/shared/contact"
	"agentchat/shared/env"
	"agentchat/shared/mailbox"
	"agentchat/shared/serve"
	"agentchat/shared/valid"
)

// New returns the handler of the family.
func New(e *env.Env) http.Handler {
	h := &handler{addressbook.New(e.Store, e.Journal, e.Mail)}
	return serve.Mux(e, "contacts", map[string]serve.Op{
		"contacts.put":     serve.Unary(h.put),
		"contacts.get":     serve.Unary(h.get),
		"contacts.list":    serve.Unary(h.list),
		"contacts.remove":  serve.Unary(h.remove),
		"contacts.history": serve.Unary(h.history),
		"contacts.share":   serve.Unary(h.share),
		"contacts.accept":  serve.Unary(h.accept),
	})
}

type handler struct{ books *addressbook.Books }

func (h *handler) put(ctx context.Context, _ auth.Caller, req *api.PutContactRequest) (*api.SaveContactResponse, error) {
	if err := valid.PutContact(req); err != nil {
		return nil, err
	}
	return h.books.Put(ctx, req.Agent, req.Card())
}

func (h *handler) get(ctx context.Context, _ auth.Caller, req *api.ContactPath) (*api.Contact, error) {
	return h.books.Get(ctx, req.Agent, req.Contact)
}

func (h *handler) list(ctx context.Context, _ auth.Caller, req *api.ListContactsRequest) (*api.ListContactsResponse, error) {
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return nil, err
	}
	return h.books.List(ctx, req.Agent, contact.Query{Behind: req.Cursor, Limit: limit, Capability: req.Capability, Labels: req.Labels})
}

func (h *handler) remove(ctx context.Context, _ auth.Caller, req *api.ContactPath) (*struct{}, error) {
	return nil, h.books.Remove(ctx, req.Agent, req.Contact)
}

func (h *handler) history(ctx context.Context, _ auth.Caller, req *api.ContactHistoryRequest) (*api.ContactHistoryResponse, error) {
	limit, err := valid.Limit(req.Limit)
	if err != nil {
		return nil, err
	}
	return h.books.History(ctx, req, limit)
}

func (h *handler) share(ctx context.Context, _ auth.Caller, req *api.ShareContactRequest) (*api.SendResponse, error) {
	if err := valid.ShareContact(req); err != nil {
		return nil, err
	}
	d := mailbox.NewDraft("contacts.share", api.KindContactShare, &req.Heading)
	d.Contact = &api.Card{ID: req.ContactID}
	return h.books.Share(ctx, d)
}

func (h *handler) accept(ctx context.Context, _ auth.Caller, req *api.AcceptContactRequest) (*api.SaveContactResponse, error) {
	return h.books.Accept(ctx, req)
}
