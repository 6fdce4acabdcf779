// Package apitest is the contract of the HTTP interface, as scripts: the same
// ones run against every host that serves the families, so that all of them
// answer alike.
//
// A script is a txtar archive, testdata/FAMILY/NAME.txtar, for
// github.com/rogpeppe/go-internal/testscript: a line is a command and its words;
// single quotes keep a word together and ” in them is one quote; $NAME is a
// variable, but not in quotes. A script tells what holds in its first line, and
// what it rests on in a line "#	— docs/PROTOCOL.md, SECTION". It runs against a
// service of its own, in which alice, bob, carol and dave are registered and
// nothing has been sent; ghost is nobody's name. It knows nothing but HTTP. $TOKEN
// is the API token, $ADMIN the admin token.
//
// The scripts of testdata/protocol belong to no family: testdata/protocol/NN-NAME.txtar
// shows the rules of section NN of Agent Chat v1, in their order, each behind a
// comment that quotes it with its number in docs/PROTOCOL.md, Rules and their scripts.
// Those of testdata/signed-chats do so for the Chat protocol and docs/SIGNED-CHATS.md:
//
//	# P1.2 "They begin and end with a letter or number."
//
// # Who asks
//
//	as WHO                  whose credential the next requests carry: operator (the API
//	                        token; at the beginning), admin, nobody, an agent's key
//	                        (alice, bob, carol, dave), or mallory: a key in good form
//	                        that was never minted
//
// # Requests
//
//	with NAME [VALUE]       a header of the next request only, in place of what it would
//	                        have had; no value: without that header; given twice: sent
//	                        twice. Transfer-Encoding chunked hides the length
//	make FILE PART...       writes a file of parts: N*TEXT is TEXT N times, hex:HEX is
//	                        bytes, anything else is itself
//	http METHOD PATH [BODY] a request; BODY is text or @FILE, as application/json
//	GET PATH, HEAD PATH, POST PATH [BODY], PUT PATH [BODY], DELETE PATH
//	begin NAME METHOD PATH [BODY]
//	                        a request that runs on beside the script
//	finish NAME             waits for its answer, which is then the last one
//	settle                  waits until all processes of the service know who was deleted
//	                        and which keys were revoked: 5 s, if there are several
//
// Every answer is checked as it comes: a request id; JSON that says it is JSON; a
// failure is a problem document that agrees with its code's status, with
// Retry-After, WWW-Authenticate and Allow where they belong; and no secret in it.
//
// # The last answer
//
//	status CODE             the HTTP status
//	[!] header NAME [VALUE] a header
//	code CODE               a problem of that code, with its status
//	field POINTER           the problem blames the member of the body
//	parameter NAME          the problem blames the path segment, parameter or header
//	[!] json POINTER [VALUE]
//	                        the value at a JSON pointer (RFC 6901; '' is everything): JSON,
//	                        else a string. White space apart it must be the same, number
//	                        tokens and order of members too. @FILE: what it holds. No
//	                        value: it is there
//	body FILE               the whole body, likewise
//	[!] holds TEXT          the body's bytes
//	[!] within DURATION     how long it took; of an event, how long it was waited for.
//	                        What must hold to the second is tested in owned time
//	                        instead: machines under test are slow
//	save NAME POINTER       sets the variable to the string or JSON at the pointer
//
// A VALUE, and a FILE of body, may hold <time>, <message>, <conversation>, <key>,
// <secret>, <request> and <any>, which stand for what is made by the server.
//
// # Streams
//
//	follow NAME PATH        opens a stream of events; its head is the last answer, and a
//	                        refusal is an answer as any
//	event NAME [ID]         waits for an event, which is then the last answer's body; its
//	                        id is the position behind its delivery, on the monitor the
//	                        delivery's cursor, and of a chat a cursor
//	problem NAME CODE       waits for an event that tells of a fault, and the end
//	comment NAME [TEXT]     waits for a comment, which must come before any event
//	cut NAME                breaks the connection
//	resume NAME [PATH]      opens it again, with the id of the last whole event
//	closed NAME             waits for the server to end it, with no event before
//
// The bytes of every stream are checked as they come: it begins with a comment;
// only envelopes, and records of a chat, carry ids, and an id is the last field; retry stands in an event; a
// comment has no blank line behind it; there is no CR.
package apitest

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentchat/shared/ident"
)

// A Host starts services. Start is called once for each script, concurrently.
type Host struct {
	Start func() (*Service, error)
	HTTP2 bool // speak HTTP/2 with prior knowledge, not HTTP/1.1
}

// A Service is what a script talks to.
type Service struct {
	URL        string // without a path
	APIToken   string
	AdminToken string
	// Settle is how long a process may not know that another one deleted an agent or
	// revoked a key; zero if there is one process.
	Settle time.Duration
	// Log returns what the service has logged; nil if it can't be seen.
	Log func() string
	// Stop ends the service; its error fails the script.
	Stop func() error
}

// registered returns the agents that are registered when a script begins.
func registered() []ident.Agent { return []ident.Agent{"alice", "bob", "carol", "dave"} }

//go:embed testdata
var scripts embed.FS

// Scripts returns the contract: a folder a family, and one a protocol, in it the scripts.
func Scripts() fs.FS {
	sub, err := fs.Sub(scripts, "testdata")
	if err != nil {
		panic(err) // a constant and valid path
	}
	return sub
}

// Run runs every script of the contract against h, each as a parallel subtest FOLDER/NAME.
func Run(t *testing.T, h Host) {
	t.Helper()
	families, err := fs.ReadDir(Scripts(), ".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, Scripts()); err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		t.Run(f.Name(), func(t *testing.T) {
			testscript.Run(t, Params(h, filepath.Join(dir, f.Name())))
		})
	}
}

// Params returns how testscript runs the scripts in dir against h.
func Params(h Host, dir string) testscript.Params {
	return testscript.Params{
		Dir:                dir,
		RequireUniqueNames: true,
		Setup:              func(e *testscript.Env) error { return setup(e, h) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"as": as, "with": with, "make": makeFile,
			"http": request, "begin": begin, "finish": finish, "settle": settle,
			"GET": method("GET"), "HEAD": method("HEAD"), "POST": method("POST"), "PUT": method("PUT"), "PATCH": method("PATCH"), "DELETE": method("DELETE"),
			"status": status, "header": header, "code": code, "field": field, "parameter": parameter,
			"json": jsonAt, "body": body, "holds": holds, "within": within, "save": save,
			"follow": follow, "event": event, "problem": problem, "comment": comment, "cut": cut, "resume": resume, "closed": closed,
		},
	}
}
