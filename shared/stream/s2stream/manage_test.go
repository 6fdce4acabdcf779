package s2stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/s2-streamstore/s2-sdk-go/s2"

	"agentchat/shared/stream"
	"agentchat/shared/stream/s2stream"
)

func admin(srv *server) *s2.Client {
	return s2.New(token, &s2.ClientOptions{BaseURL: srv.url, MakeBasinBaseURL: func(string) string { return srv.url }})
}

func TestCheckSaysWhatDiffers(t *testing.T) {
	srv := serve(t, nil)
	s := unensured(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-check"})
	if err := s.Check(t.Context()); !errors.Is(err, stream.ErrUnavailable) || !strings.Contains(err.Error(), "no such basin") {
		t.Errorf("check without basins: err = %v; want ErrUnavailable, no such basin", err)
	}
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		basin  s2.BasinName
		change s2.BasinReconfiguration
		want   string
	}{
		{"create on append", "basin-of-check", s2.BasinReconfiguration{CreateStreamOnAppend: s2.Bool(true)}, "on append"},
		{"no create on append", "basin-of-check-ops", s2.BasinReconfiguration{CreateStreamOnAppend: s2.Bool(false)}, "on append"},
		{"create on read", "basin-of-check-ops", s2.BasinReconfiguration{CreateStreamOnRead: s2.Bool(true)}, "on read"},
		{"retention", "basin-of-check", s2.BasinReconfiguration{DefaultStreamConfig: &s2.StreamReconfiguration{RetentionPolicy: &s2.RetentionPolicy{Age: s2.Int64(60)}}}, "keeps records for 1m0s"},
		{"S2's own retention", "basin-of-check", s2.BasinReconfiguration{DefaultStreamConfig: &s2.StreamReconfiguration{ClearRetentionPolicy: true}}, "keeps records for 168h0m0s"},
		{"delete on empty", "basin-of-check-ops", s2.BasinReconfiguration{DefaultStreamConfig: &s2.StreamReconfiguration{ClearDeleteOnEmpty: true}}, "deletes empty streams after 0s"},
	} {
		if _, err := admin(srv).Basins.Reconfigure(t.Context(), s2.ReconfigureBasinArgs{Basin: c.basin, Config: c.change}); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), string(c.basin)) {
			t.Errorf("%s: check = %v; want %q of %s", c.name, err, c.want, c.basin)
		}
		if err := s.Ensure(t.Context()); err != nil {
			t.Errorf("%s: ensure: %v", c.name, err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: check after ensure: %v", c.name, err)
		}
	}
}

// What an operator chose besides stays as it is.
func TestEnsureKeepsTheStorageClass(t *testing.T) {
	srv := serve(t, nil)
	class := s2.StorageClassStandard
	if _, err := admin(srv).Basins.Create(t.Context(), s2.CreateBasinArgs{Basin: "basin-of-ensure", Config: &s2.BasinConfig{
		DefaultStreamConfig: &s2.StreamConfig{StorageClass: &class},
	}}); err != nil {
		t.Fatal(err)
	}
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-ensure"})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	got, err := admin(srv).Basins.GetConfig(t.Context(), "basin-of-ensure")
	if err != nil || got.DefaultStreamConfig.StorageClass == nil || *got.DefaultStreamConfig.StorageClass != class {
		t.Errorf("configuration after ensure: %+v, %v; want the storage class kept", got.DefaultStreamConfig, err)
	}
}

func TestCreateConfiguresTheStream(t *testing.T) {
	srv := serve(t, nil)
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url, Basin: "basin-of-create"})
	create(t, s, stream.Inbox("ever"))
	if err := s.Create(t.Context(), stream.Inbox("aging"), stream.Config{Retention: 1500 * time.Millisecond, DeleteOnEmpty: time.Hour}); err != nil {
		t.Fatal(err)
	}
	streams := admin(srv).Basin("basin-of-create").Streams
	ever, err := streams.GetConfig(t.Context(), "inbox/ever")
	if err != nil || ever.RetentionPolicy.Infinite == nil {
		t.Errorf("configuration = %+v, %v; want infinite retention", ever, err)
	}
	aging, err := streams.GetConfig(t.Context(), "inbox/aging")
	if err != nil || aging.RetentionPolicy.Age == nil || *aging.RetentionPolicy.Age != 2 || *aging.DeleteOnEmpty.MinAgeSecs != 3600 {
		t.Errorf("configuration = %+v, %v; want 2 s, rounded up, and an hour", aging, err)
	}
}

// A basin that is missing is the operator's mistake, not a missing stream.
func TestMissingBasinIsUnavailable(t *testing.T) {
	s := unensured(t, s2stream.Options{Token: token, Endpoint: serve(t, nil).url})
	_, appended := s.Append(t.Context(), inbox, batch("m"))
	_, read := s.Read(t.Context(), inbox, stream.Start{}, stream.Limit{})
	_, tail := s.Tail(t.Context(), inbox)
	for name, err := range map[string]error{"append": appended, "read": read, "tail": tail, "create": s.Create(t.Context(), inbox, stream.Config{})} {
		if !errors.Is(err, stream.ErrUnavailable) || errors.Is(err, stream.ErrNotFound) {
			t.Errorf("%s: err = %v; want ErrUnavailable", name, err)
		}
	}
}

// Creates and deletes whose reply is lost may have happened.
func TestAmbiguousChangeIsUnknown(t *testing.T) {
	srv := serve(t, both(only("POST", "/streams", fault{kind: dropReply}), only("DELETE", "/inbox/bob", fault{kind: dropReply})))
	s := open(t, s2stream.Options{Token: token, Endpoint: srv.url})
	if err := s.Create(t.Context(), inbox, stream.Config{}); !errors.Is(err, stream.ErrUnknown) {
		t.Errorf("create: err = %v; want ErrUnknown", err)
	}
	if err := s.Create(t.Context(), inbox, stream.Config{}); !errors.Is(err, stream.ErrExists) {
		t.Errorf("create again: err = %v; want ErrExists", err)
	}
	if err := s.Delete(t.Context(), inbox); !errors.Is(err, stream.ErrUnknown) {
		t.Errorf("delete: err = %v; want ErrUnknown", err)
	}
	if err := s.Delete(t.Context(), inbox); !errors.Is(err, stream.ErrNotFound) {
		t.Errorf("delete again: err = %v; want ErrNotFound", err)
	}
}
