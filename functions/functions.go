// Package functions is the registry of the endpoint families: what a host that
// serves them all needs. A host that serves one imports that family alone.
package functions

import (
	"net/http"

	"agentchat/functions/agents"
	"agentchat/functions/chats"
	"agentchat/functions/contacts"
	"agentchat/functions/inbox"
	"agentchat/functions/messages"
	"agentchat/functions/monitor"
	"agentchat/functions/receipts"
	"agentchat/functions/service"
	"agentchat/shared/env"
	"agentchat/shared/serve"
)

// Families returns the constructor of each family, by the name of its folder.
func Families() map[string]func(*env.Env) http.Handler {
	return map[string]func(*env.Env) http.Handler{
		"agents":   agents.New,
		"chats":    chats.New,
		"contacts": contacts.New,
		"inbox":    inbox.New,
		"messages": messages.New,
		"monitor":  monitor.New,
		"receipts": receipts.New,
		"service":  service.New,
	}
}

// Handler returns every family on one host.
func Handler(e *env.Env) http.Handler {
	handlers := make(map[string]http.Handler)
	for name, family := range Families() {
		handlers[name] = family(e)
	}
	return serve.All(e, handlers)
}
