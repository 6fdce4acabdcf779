package client

import (
	"context"
	"iter"
	"net/http"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// PutContact saves a card in an address book, or replaces it whole. Repeating it
// changes nothing.
func (c *Client) PutContact(ctx context.Context, req api.PutContactRequest) (*api.SaveContactResponse, error) {
	return c.saveContact(ctx, "contacts.put", &req)
}

// AcceptContact saves the card of a received contact.share. Accepting it again
// changes nothing.
func (c *Client) AcceptContact(ctx context.Context, req api.AcceptContactRequest) (*api.SaveContactResponse, error) {
	return c.saveContact(ctx, "contacts.accept", &req)
}

func (c *Client) saveContact(ctx context.Context, op string, req any) (*api.SaveContactResponse, error) {
	answer, res, err := call[api.SaveContactResponse](ctx, c, op, req, true)
	if err != nil {
		return nil, err
	}
	answer.Created = res.status == http.StatusCreated
	return answer, nil
}

// Contact returns a contact.
func (c *Client) Contact(ctx context.Context, req api.ContactPath) (*api.Contact, error) {
	return do[api.Contact](ctx, c, "contacts.get", &req, true)
}

// ListContacts returns a page of an address book.
func (c *Client) ListContacts(ctx context.Context, req api.ListContactsRequest) (*api.ListContactsResponse, error) {
	return do[api.ListContactsResponse](ctx, c, "contacts.list", &req, true)
}

// Contacts yields the contacts that pass req's filters from req.Cursor on, page
// after page, in bytewise order. It ends after the first error.
func (c *Client) Contacts(ctx context.Context, req api.ListContactsRequest) iter.Seq2[api.Contact, error] {
	return pages(req.Cursor, func(cursor ident.Agent) ([]api.Contact, *ident.Agent, error) {
		req.Cursor = cursor
		page, err := c.ListContacts(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		return page.Contacts, page.NextCursor, nil
	})
}

// RemoveContact removes a contact from an address book.
func (c *Client) RemoveContact(ctx context.Context, req api.ContactPath) error {
	return c.remove(ctx, "contacts.remove", &req, api.ContactNotFound)
}

// ListContactHistory returns a page of what happened to a contact.
func (c *Client) ListContactHistory(ctx context.Context, req api.ContactHistoryRequest) (*api.ContactHistoryResponse, error) {
	return do[api.ContactHistoryResponse](ctx, c, "contacts.history", &req, true)
}

// ContactHistory yields what happened to a contact from req.Cursor on, oldest
// first. It ends after the first error.
func (c *Client) ContactHistory(ctx context.Context, req api.ContactHistoryRequest) iter.Seq2[api.ContactEvent, error] {
	return pages(req.Cursor, func(cursor uint64) ([]api.ContactEvent, *uint64, error) {
		req.Cursor = cursor
		page, err := c.ListContactHistory(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		return page.Events, page.NextCursor, nil
	})
}

// ShareContact sends the card of a contact. It is durable when ShareContact
// returns nil; what holds of Send and its ids holds of it.
func (c *Client) ShareContact(ctx context.Context, req api.ShareContactRequest) (*api.SendResponse, error) {
	return c.send(ctx, "contacts.share", &req, &req.ID, req.IdempotencyKey)
}
