package faultstream_test

import (
	"fmt"
	"strings"
	"testing"

	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// A suspect takes what is held against a test.
type suspect struct {
	testing.TB
	complaints []string
	cleanups   []func()
}

func (s *suspect) Helper() {}

func (s *suspect) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *suspect) Errorf(format string, args ...any) {
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}

func TestMisuseIsTold(t *testing.T) {
	unknown := faultstream.Fault{Kind: faultstream.Lost}
	for _, c := range []struct {
		name   string
		misuse func(*testing.T, *faultstream.Store)
		choose faultstream.Chooser
		want   string // what is complained of; "" nothing
	}{
		{"nothing", func(t *testing.T, s *faultstream.Store) {
			in := batch("mine")
			_, _ = s.Append(t.Context(), inbox, in)
			in.Records[0] = stream.Record{} // the caller's again
			_, _ = s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
		}, nil, ""},
		{"writing to a page", func(t *testing.T, s *faultstream.Store) {
			_, _ = s.Append(t.Context(), inbox, batch("mine"))
			page, err := s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
			if err != nil {
				t.Fatal(err)
			}
			page.Entries[0].Body[0] = 'x'
		}, nil, "a page of inbox/bob from 0 was written to"},
		{"writing to what was appended", func(t *testing.T, s *faultstream.Store) {
			in := batch("mine")
			_, _ = s.Append(t.Context(), inbox, in)
			in.Records[0].Body[0] = 'x'
		}, nil, "what was appended to inbox/bob from 0 was written to"},
		{"too many records", func(t *testing.T, s *faultstream.Store) {
			_, _ = s.Append(t.Context(), inbox, stream.Batch{Records: make([]stream.Record, stream.MaxBatchRecords+1)})
		}, nil, "1001 records"},
		{"a blind repeat", func(t *testing.T, s *faultstream.Store) {
			_, _ = s.Append(t.Context(), inbox, batch("m"))
			_, _ = s.Append(t.Context(), inbox, batch("m"))
		}, faultstream.Script(faultstream.Append, unknown), "repeated blindly"},
		{"a blind repeat with the same token", func(t *testing.T, s *faultstream.Store) {
			token, in := "", batch("m")
			in.Token = &token
			_, _ = s.Append(t.Context(), inbox, in)
			_, _ = s.Append(t.Context(), inbox, in)
		}, faultstream.Script(faultstream.Append, unknown), "repeated blindly"},
		{"a repeat under another token", func(t *testing.T, s *faultstream.Store) {
			before, after, in := "", "new", batch("m")
			in.Token = &before
			_, _ = s.Append(t.Context(), inbox, in)
			in.Token = &after
			_, _ = s.Append(t.Context(), inbox, in)
		}, faultstream.Script(faultstream.Append, unknown), ""},
		{"a repeat at a position", func(t *testing.T, s *faultstream.Store) {
			at, in := uint64(0), batch("m")
			in.At = &at
			_, _ = s.Append(t.Context(), inbox, in)
			_, _ = s.Append(t.Context(), inbox, in)
		}, faultstream.Script(faultstream.Append, unknown), ""},
		{"a repeat of what was refused", func(t *testing.T, s *faultstream.Store) {
			_, _ = s.Append(t.Context(), inbox, batch("m"))
			_, _ = s.Append(t.Context(), inbox, batch("m"))
		}, faultstream.Script(faultstream.Append, faultstream.Fault{Kind: faultstream.Refused}), ""},
		{"a fault that can't be", func(t *testing.T, s *faultstream.Store) {
			_, _ = s.Tail(t.Context(), inbox)
		}, faultstream.Script(faultstream.Tail, faultstream.Fault{Kind: faultstream.Late}), "can't happen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := memory(t)
			if err := inner.Create(t.Context(), inbox, stream.Config{}); err != nil {
				t.Fatal(err)
			}
			by := &suspect{TB: t}
			c.misuse(t, faultstream.New(by, inner, faultstream.Options{Choose: c.choose, NoBlindRepeat: true}))
			for _, f := range by.cleanups {
				f()
			}
			got := strings.Join(by.complaints, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("complaints: %q; want %q", got, c.want)
			}
		})
	}
}

// The batch is changed while the call is under way: by the chooser, which runs in the middle of it.
func TestChangedArgumentIsTold(t *testing.T) {
	inner := memory(t)
	if err := inner.Create(t.Context(), inbox, stream.Config{}); err != nil {
		t.Fatal(err)
	}
	in := batch("mine")
	by := &suspect{TB: t}
	s := faultstream.New(by, inner, faultstream.Options{Choose: func(faultstream.Call) faultstream.Fault {
		in.Records[0].Body[0] = 'x'
		return faultstream.Fault{}
	}})
	if _, err := s.Append(t.Context(), inbox, in); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(by.complaints, "\n"); !strings.Contains(got, "was changed while Append was running") {
		t.Errorf("complaints: %q", got)
	}
}
