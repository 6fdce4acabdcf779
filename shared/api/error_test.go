package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"agentchat/shared/api"
	"agentchat/shared/ident"
)

// TestProblem holds what is on the wire, member by member.
func TestProblem(t *testing.T) {
	ambiguous := api.Errorf(api.AmbiguousMessageID, "say which")
	ambiguous.Senders = []ident.Agent{"alice", "bob"}
	trimmed := api.Errorf(api.HistoryTrimmed, "begin at 0")
	trimmed.First = new(uint64(0))
	beyond := api.Errorf(api.CursorBeyondTail, "the tail is 3")
	beyond.Tail = &api.Tail{At: 3}
	unknown := api.Errorf(api.OutcomeUnknown, "it may be stored")
	unknown.Message = "msg_1"
	replaced := api.Errorf(api.OwnerReplaced, "nothing was stored")
	replaced.Owner, replaced.Tail = new(api.Some(ident.Owner("f_1"))), &api.Tail{At: 7, Text: true}
	for _, tt := range []struct {
		name string
		err  *api.Error
		want string
	}{
		{
			"field", api.InvalidField("/to", "an id of %d", 64),
			`{"type":"about:blank","title":"Invalid value","status":400,"detail":"an id of 64","code":"invalid","field":"/to","request_id":"r1"}`,
		},
		{
			"parameter", api.InvalidParameter("limit", "1 to 1000"),
			`{"type":"about:blank","title":"Invalid value","status":400,"detail":"1 to 1000","code":"invalid","parameter":"limit","request_id":"r1"}`,
		},
		{
			"senders", ambiguous,
			`{"type":"about:blank","title":"Several messages have this id","status":409,"detail":"say which","code":"ambiguous_message_id","senders":["alice","bob"],"request_id":"r1"}`,
		},
		{
			"a first position of zero", trimmed,
			`{"type":"about:blank","title":"Position no longer retained","status":410,"detail":"begin at 0","code":"history_trimmed","first":0,"request_id":"r1"}`,
		},
		{
			"tail", beyond,
			`{"type":"about:blank","title":"Cursor beyond the tail","status":416,"detail":"the tail is 3","code":"cursor_beyond_tail","tail":3,"request_id":"r1"}`,
		},
		{
			"owner, and the tail of a direction", replaced,
			`{"type":"about:blank","title":"Owner replaced","status":409,"detail":"nothing was stored","code":"owner_replaced","tail":"7","owner":"f_1","request_id":"r1"}`,
		},
		{
			"unknown outcome", unknown,
			`{"type":"about:blank","title":"Outcome unknown","status":503,"detail":"it may be stored","code":"outcome_unknown","message_id":"msg_1","outcome":"unknown","retry":"same id only","request_id":"r1"}`,
		},
		{
			"unknown outcome of what has no id", api.Errorf(api.OutcomeUnknown, "it may be done"),
			`{"type":"about:blank","title":"Outcome unknown","status":503,"detail":"it may be done","code":"outcome_unknown","outcome":"unknown","retry":"inspect","request_id":"r1"}`,
		},
		{
			"cause is not told", api.Errorf(api.Unavailable, "later").Because(errors.New("secret")),
			`{"type":"about:blank","title":"Store unavailable","status":503,"detail":"later","code":"unavailable","request_id":"r1"}`,
		},
		{
			"any other error is internal", api.AsError(errors.New("secret")),
			`{"type":"about:blank","title":"Internal error","status":500,"detail":"the server failed to answer; it logged why under this request id","code":"internal","request_id":"r1"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.err.Problem("r1"))
			if err != nil || string(got) != tt.want {
				t.Errorf("Problem: %s, %v\nwant     %s", got, err, tt.want)
			}
		})
	}
}

// TestExtensions: no family's member hides another's, which encoding/json leaves
// out without a word, and each can be left out.
func TestExtensions(t *testing.T) {
	of := map[string]string{}
	var collect func(reflect.Type)
	collect = func(typ reflect.Type) {
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				collect(f.Type)
			case of[name] != "":
				t.Errorf("%s is a member of %s and of %s", name, of[name], typ.Name())
			case typ != reflect.TypeFor[api.Problem]() && options != "omitempty":
				t.Errorf("%s of %s can't be left out", name, typ.Name())
			default:
				of[name] = typ.Name()
			}
		}
	}
	collect(reflect.TypeFor[api.Problem]())
	if of["status"] != "Problem" || of["first"] != "PositionExtensions" {
		t.Errorf("the members are %v", of)
	}
}

// TestErrorForLogs: a log gets the cause, and errors.Is finds it.
func TestErrorForLogs(t *testing.T) {
	err := api.Errorf(api.Unavailable, "inbox of %s", "bob").Because(io.ErrUnexpectedEOF)
	if got, want := err.Error(), "unavailable: inbox of bob: unexpected EOF"; got != want {
		t.Errorf("Error: %q; want %q", got, want)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is(%v, io.ErrUnexpectedEOF) = false; want true", err)
	}
	if got, want := api.Errorf(api.NotFound, "no path").Error(), "not_found: no path"; got != want {
		t.Errorf("Error: %q; want %q", got, want)
	}
}

func TestAsError(t *testing.T) {
	e := api.Errorf(api.Forbidden, "no")
	if got := api.AsError(fmt.Errorf("send: %w", errors.Join(io.EOF, e))); got != e {
		t.Errorf("AsError of a wrapped error: %v; want the error itself", got)
	}
	other := errors.New("disk full")
	got := api.AsError(other)
	if got.Code != api.Internal || !errors.Is(got, other) || strings.Contains(got.Detail, "disk") {
		t.Errorf("AsError(%v): %v; want Internal with it as the cause and not in the detail", other, got)
	}
}
