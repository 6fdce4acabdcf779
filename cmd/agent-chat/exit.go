package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"agentchat/shared/api"
	"agentchat/shared/client"
	"agentchat/shared/coordinator"
	"agentchat/shared/route"
)

// The exit statuses, as the help of agent-chat explains them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnavailable = 4
	exitReplaced    = 4 // of chats: another owner has the direction
	exitUncertain   = 5 // of chats: an append may have been stored, or may still be
	exitInterrupted = 130
)

// A usage error is one of the command line or the configuration.
type usage struct{ error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

func (u usage) Unwrap() error { return u.error }

// errIncomplete is of a reading that had to leave something out, which may be had later.
var errIncomplete = errors.New("this is not all")

func exitStatus(err error) int {
	if _, ok := errors.AsType[usage](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*coordinator.Uncertain](err); ok {
		return exitUncertain
	}
	if _, ok := errors.AsType[*coordinator.Replaced](err); ok {
		return exitReplaced
	}
	if e, ok := errors.AsType[*client.Error](err); ok && (!e.Permanent() || mayBeDone(err, e)) {
		return exitUnavailable
	} else if ok {
		return exitRefused
	}
	if _, ok := errors.AsType[*client.ConnError](err); ok || errors.Is(err, client.ErrUnknown) || errors.Is(err, errIncomplete) {
		return exitUnavailable
	}
	return exitFailed
}

// mayBeDone reports whether err, which ended with the answer e, is of a call that
// may have been carried out before it was answered so.
func mayBeDone(err error, e *client.Error) bool {
	return errors.Is(err, client.ErrUnknown) && !errors.Is(e, client.ErrUnknown)
}

// report writes err for a person, or with --json as an object, and says what to do.
func (a *app) report(err error) {
	if _, told := errors.AsType[quiet](err); told {
		return
	}
	if !a.json {
		a.note("%s", "agent-chat: "+a.describe(err))
		if hint := advice(err); hint != "" {
			a.note("  %s", hint)
		}
		return
	}
	e, ok := errors.AsType[*client.Error](err)
	_, uncertain := errors.AsType[*coordinator.Uncertain](err)
	s, isSend := errors.AsType[*unsent](err)
	if ok && e.Problem.Code != "" && !uncertain {
		p := e.Problem
		if mayBeDone(err, e) {
			p.Outcome = "unknown"
		}
		if isSend {
			p.Message = s.id
		}
		a.object(a.errOut, map[string]any{"error": p, "advice": advice(err)})
		return
	}
	p := map[string]any{"detail": a.describe(err)}
	if u, ok := errors.AsType[*coordinator.Uncertain](err); ok {
		p["operation_id"], p["position"] = u.Operation, u.Position
		p["inspect"], p["recover"] = recovery(u)
	}
	if r, ok := errors.AsType[*coordinator.Replaced](err); ok {
		p["owner"] = r.By
	}
	if isSend {
		p["message_id"] = s.id
	}
	if ok {
		p["status"] = e.Status
	}
	if errors.Is(err, client.ErrUnknown) {
		p["outcome"] = "unknown"
	}
	a.object(a.errOut, map[string]any{"error": p, "advice": advice(err)})
}

// describe returns err as a sentence; what is of interest to a person.
func (a *app) describe(err error) string {
	if u, ok := errors.AsType[*coordinator.Uncertain](err); ok {
		return fmt.Sprintf("it is not known whether operation %s was stored at %d: %s", u.Operation, u.Position, a.describe(u.Cause))
	}
	if e, ok := errors.AsType[*client.ConnError](err); ok {
		return strings.TrimPrefix(err.Error(), e.Op+": ")
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Problem.Detail == "" {
		return err.Error()
	}
	s := e.Problem.Detail
	for _, where := range []string{e.Problem.Field, e.Problem.Parameter} {
		if where != "" {
			s += " (" + where + ")"
		}
	}
	s = fmt.Sprintf("%s [%d %s, request %s]", s, e.Status, e.Problem.Code, e.Problem.RequestID)
	if mayBeDone(err, e) {
		s += "; an attempt before it may have been carried out"
	}
	return s
}

// seeDoctor ends advice that doctor itself need not give.
const seeDoctor = " agent-chat doctor looks."

// advice says what to do about err, if there is something to do.
func advice(err error) string {
	if s, ok := errors.AsType[*unsent](err); ok {
		return "It may have been stored. Repeat the same command with --id " + string(s.id) + ": it is stored once."
	}
	if u, ok := errors.AsType[*coordinator.Uncertain](err); ok {
		inspect, decide := recovery(u)
		return "Nothing more is sent. Look at what became of it, and at the agent's session; then decide it:\n  " + inspect + "\n  " + decide
	}
	if _, ok := errors.AsType[*coordinator.Replaced](err); ok {
		return "Nothing of what was under way is stored, and nothing more is presented here."
	}
	if e, ok := errors.AsType[*client.Error](err); ok && mayBeDone(err, e) {
		return "It may be done already: look before it is repeated."
	}
	if e, ok := errors.AsType[*client.ConnError](err); ok {
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return "The server's certificate is not trusted here; SSL_CERT_FILE names a file of authorities to trust."
		}
		if !e.Sent {
			return "Does the server run, and is AGENT_CHAT_URL right?" + seeDoctor
		}
		return ""
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return ""
	}
	p := e.Problem
	switch {
	case p.Code == "" && e.Status == 429: // Lambda's, and other fronts'
		return "Nothing was done: as many calls are in progress as the server takes. Try again in a moment."
	case p.Code == "" && (e.Status == 414 || e.Status == 431):
		return "The cursor is longer than what the server, or something before it, takes. Begin without it, or name some inboxes with --agent."
	case p.Code == api.NotFound:
		return "Is AGENT_CHAT_URL right? What stands before /v1 belongs to it, and no more. Or the server is older than this command."
	case p.Code == "" && e.Status/100 != 5:
		return "That was no answer of agent-chat; is AGENT_CHAT_URL right?"
	case e.Status == 401 && route.Of(e.Op).Access == route.Admin:
		return "AGENT_CHAT_ADMIN_TOKEN is not one that this server knows."
	case e.Status == 403 && route.Of(e.Op).Access == route.Admin:
		return "What is in AGENT_CHAT_ADMIN_TOKEN is another kind of credential; this takes an admin token."
	case e.Status == 401:
		return "AGENT_CHAT_TOKEN is not one that this server knows." + seeDoctor
	case p.Code == api.PermissionRequired || p.Code == api.PermissionDenied:
		return "Nothing was stored. The peer decides: agent-chat chats permissions CHAT --allow"
	case e.Status == 403:
		return "The credential in AGENT_CHAT_TOKEN may not do this; agent-chat whoami says what it is."
	case p.Code == api.AgentNotRegistered || p.Code == api.RecipientNotFound:
		return "agent-chat register AGENT registers it; agent-chat agents lists who is."
	case p.Code == api.MessageNotFound:
		return "agent-chat inbox --json shows the ids."
	case p.Code == api.KeyNotFound:
		return "agent-chat keys list AGENT says which keys it has."
	case p.Code == api.ContactNotFound:
		return "agent-chat contacts lists who is there."
	case p.Code == api.ContactExists:
		return "Save it under another name with --as NAME, or put it in its place with --replace."
	case p.Code == api.MonitorDisabled:
		return "The server has no admin token: AGENT_CHAT_ADMIN_TOKEN gives it one."
	case p.Code == api.ChatNotFound:
		return "agent-chat chats list says which chats there are."
	case p.Code == api.ClaimStale:
		return "Somebody else has claimed it, or written there, meanwhile. Look again, then --take-over, and a new --claim-id if one was given."
	case p.Code == api.CursorExpired:
		return "Begin without --cursor: what is retained comes again."
	case p.Code == api.Unavailable:
		return "Nothing was done. The server can't reach its store just now; its log says why."
	case p.First != nil:
		return fmt.Sprintf("The first position that can be read is %d: --cursor %d", *p.First, *p.First)
	case p.Tail != nil && !p.Tail.Text:
		return fmt.Sprintf("The inbox ends at %d: --cursor %d", p.Tail.At, p.Tail.At)
	case p.Code == api.AmbiguousMessageID:
		names := make([]string, len(p.Senders))
		for i, s := range p.Senders {
			names[i] = string(s)
		}
		return "Sent by " + strings.Join(names, ", ") + ": --from AGENT chooses."
	}
	return ""
}
