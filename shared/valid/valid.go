// Package valid checks across fields what the types of api can't: one function a
// request, each returning nil or an *api.Error that names the field.
package valid

import "agentchat/shared/api"

// Send checks a messages.send body.
func Send(r *api.SendRequest) error { panic("unwritten") }

// Register checks an agents.register body.
func Register(r *api.RegisterRequest) error { panic("unwritten") }

// Limit returns the page size asked for, or the default; an error if it is not 1-1000.
func Limit(l *int) (int, error) { panic("unwritten") }

// Inbox checks an inbox.read request.
func Inbox(r *api.InboxRequest) error { panic("unwritten") }
