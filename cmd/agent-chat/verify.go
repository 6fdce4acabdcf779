package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"agentchat/shared/api"
	"agentchat/shared/ident"
	"agentchat/shared/signed"
)

func (a *app) verifyCommand() *cobra.Command {
	var jwks string
	var partial bool
	cmd := &cobra.Command{
		Use:   "verify --jwks FILE TRANSCRIPT",
		Short: "Verify the transcript of a signed chat, offline",
		Long: `Verify the transcript of a signed chat with public keys, calling nobody. TRANSCRIPT
is a file of JSON, one record or one page of a transcript a line, or - for standard
input. FILE is a JWK set as the server publishes it at /.well-known/jwks.json, or -.

Checked are every signature, hash and key time; each record against where it stands;
that a record was stored within five minutes of its signing; that positions have no
gap, owners follow one another and operations are whole; that receipts acknowledge
what the peer wrote; and that no act of signing stands at two positions.

A transcript has to be read with receipts and fences, from its beginning. With
--partial it may be a part, or messages alone: positions may then be missing.

Each fault is a line. The exit status is 0 if there is none, else 1.`,
		Example: `  curl -s "${AGENT_CHAT_URL:-` + defaultURL + `}/.well-known/jwks.json" >keys.json
  agent-chat chats read $CHAT --all --limit 0 --json >transcript.ndjson
  agent-chat verify --jwks keys.json transcript.ndjson
  agent-chat verify --jwks keys.json --partial - <messages.ndjson`,
		Args: takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return a.verify(jwks, args[0], partial) },
	}
	cmd.Flags().StringVar(&jwks, "jwks", "", "`file` of the public keys, a JWK set")
	cmd.Flags().BoolVar(&partial, "partial", false, "positions may be missing")
	if err := cmd.MarkFlagRequired("jwks"); err != nil {
		panic(err)
	}
	return cmd
}

// verify writes a line for each fault, and a last one of what there was.
func (a *app) verify(jwks, transcript string, partial bool) error {
	if jwks == "-" && transcript == "-" {
		return usagef("the keys and the transcript can't both come from standard input")
	}
	keys, err := a.readKeys(jwks)
	if err != nil {
		return err
	}
	in, err := a.open(transcript)
	if err != nil {
		return err
	}
	defer in.Close()
	v := verifier{a: a, transcript: signed.NewTranscript(keys, partial), partial: partial}
	for lines := bufio.NewReader(in); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		v.read(line)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return v.end()
}

// readKeys reads a JWK set from a file, or from standard input.
func (a *app) readKeys(name string) (*signed.Set, error) {
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	keys, err := signed.ParseSet(b)
	if err != nil {
		return nil, usage{fmt.Errorf("%s: %w", name, err)}
	}
	return keys, nil
}

// open opens a file, or standard input for "-".
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage{err}
	}
	return f, nil
}

// A verifier reads a transcript line by line.
type verifier struct {
	a                     *app
	transcript            *signed.Transcript
	partial               bool
	line, records, faults int
	gaps, unread          bool // positions are missing; a line could not be read
}

// A shown is a record of a transcript as it is printed, and what stands beside it
// in a page.
type shown struct {
	StreamID   string           `json:"streamId"`
	Generation ident.Generation `json:"generation"`
	Position   *api.Position    `json:"position"`
	Timestamp  *api.Time        `json:"timestamp"`
	Record     json.RawMessage  `json:"record"`
}

func (v *verifier) read(line []byte) {
	v.line++
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var page struct {
		Items *[]shown `json:"items"`
		shown
	}
	if err := json.Unmarshal(line, &page); err != nil {
		v.unread = true
		v.fault(nil, &signed.Fault{Reason: signed.Malformed, Detail: "not a record of a transcript, and no page of one"})
		return
	}
	items := []shown{page.shown}
	if page.Items != nil {
		items = *page.Items
	}
	for _, s := range items {
		v.records++
		if s.Position == nil || s.Timestamp == nil || s.Record == nil {
			v.fault(nil, &signed.Fault{Reason: signed.Malformed, Detail: "not a record of a transcript: it lacks its position, timestamp or record"})
			continue
		}
		for _, f := range v.transcript.Add(signed.Entry{
			StreamID: s.StreamID, Generation: s.Generation, Position: *s.Position, Timestamp: *s.Timestamp, Record: s.Record,
		}) {
			v.fault(&s, f)
		}
	}
}

// fault tells of one, of the record s if it is of one.
func (v *verifier) fault(s *shown, f *signed.Fault) {
	v.faults++
	v.gaps = v.gaps || f.Reason == signed.Gap
	if v.a.json {
		o := map[string]any{"reason": f.Reason, "detail": f.Detail}
		if v.line > 0 {
			o["line"] = v.line
		}
		if s != nil {
			o["streamId"], o["position"] = s.StreamID, *s.Position
		}
		v.a.object(v.a.out, o)
		return
	}
	where := ""
	if v.line > 0 {
		where = fmt.Sprintf("line %d: ", v.line)
	}
	if s != nil {
		where += fmt.Sprintf("%s at %d: ", s.StreamID, *s.Position)
	}
	v.a.say("%s", inertLine(where+f.Error()))
}

// end tells what was read, and fails if anything was wrong with it.
func (v *verifier) end() error {
	v.line = 0
	for _, f := range v.transcript.End() {
		v.fault(nil, f)
	}
	n := v.transcript.Counts
	if v.a.json {
		v.a.object(v.a.out, map[string]any{
			"records": v.records, "messages": n[signed.TypeMessage], "receipts": n[signed.TypeReceipt], "fences": n[signed.TypeFence], "faults": v.faults,
		})
	} else {
		v.a.say("%s: %s, %s and %s are right by themselves; %s", counted(v.records, "record"), counted(n[signed.TypeMessage], "message"),
			counted(n[signed.TypeReceipt], "receipt"), counted(n[signed.TypeFence], "fence"), counted(v.faults, "fault"))
	}
	if v.unread && !v.a.json {
		v.a.note("  A record or a page is one line: curl -w '\\n' ends a page, jq -c . makes one line of several.")
	}
	switch {
	case v.records == 0:
		return errors.New("there is no record in it")
	case v.gaps && n[signed.TypeReceipt] == 0 && n[signed.TypeFence] == 0 && !v.a.json:
		v.a.note("  Messages alone? Read the transcript with receipts and fences, or see --partial.")
		fallthrough
	case v.faults > 0:
		return quiet{errors.New("the transcript has faults")}
	}
	return nil
}
