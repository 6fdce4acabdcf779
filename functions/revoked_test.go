package functions_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/stream"
	"agentchat/shared/stream/faultstream"
)

// A revocation by another process ends what its key has opened within 5 s: a
// stream, a long poll. So does the deletion of the agent, of which an inbox tells
// itself. Other keys' streams go on.
func TestRevocationAcrossProcesses(t *testing.T) {
	for _, row := range []struct {
		name, what string // what is done after a minute
		code       api.Code
	}{
		{"revoked", "/v1/agents/bob/keys/", api.UnknownCredential},
		{"deleted", "/v1/agents/bob", api.GenerationChanged},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				other := worldOn(t, w.store)
				c := other.serve()
				w.register("alice", "bob")
				key, id := w.mint("bob")
				second, _ := w.mint("bob")
				lines := followAs(t.Context(), t, c, key, "http://pipes/v1/agents/bob/inbox")
				stays := followAs(t.Context(), t, c, second, "http://pipes/v1/agents/bob/inbox")
				time.Sleep(time.Minute)
				polled := make(chan time.Duration, 1)
				go func() {
					begun := time.Now()
					r := other.as(key, http.MethodGet, "/v1/agents/bob/inbox?wait=20&from=alice&cursor=0", "", nil)
					if !strings.Contains(r.Body.String(), string(api.UnknownCredential)) && row.code == api.UnknownCredential {
						t.Errorf("the long poll: %d %s; want a refusal", r.Code, r.Body)
					}
					polled <- time.Since(begun)
				}()
				synctest.Wait()
				target := row.what
				if strings.HasSuffix(target, "/") {
					target += id
				}
				if r := w.do(http.MethodDelete, target, ""); r.Code != http.StatusNoContent {
					t.Fatalf("DELETE %s: %d %s", target, r.Code, r.Body)
				}
				time.Sleep(5 * time.Second)
				if code, open := ended(lines); code != string(row.code) || open {
					t.Errorf("5 s later the stream said %q, and is open: %t; want %q and its end", code, open, row.code)
				}
				if row.code == api.UnknownCredential {
					if len(polled) == 0 {
						t.Error("5 s later the long poll waits")
					}
					time.Sleep(time.Minute)
					if code, open := ended(stays); code != "" || !open {
						t.Errorf("the stream of the other key said %q, and is open: %t; want it to go on", code, open)
					}
				}
				time.Sleep(20 * time.Second)
				<-polled
			})
		})
	}
}

// While the store can't be asked, what is open stays open; of an idle stream it is
// asked every few seconds, however many there are of its agent.
func TestStreamsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var looks atomic.Int64
		w := newWorld(t, func(c faultstream.Call) faultstream.Fault {
			if c.Op == faultstream.Read && c.Name == stream.Agent("bob") {
				looks.Add(1)
				if away.Load() {
					return faultstream.Fault{Kind: faultstream.Refused}
				}
			}
			return faultstream.Fault{}
		})
		c := w.serve()
		w.register("bob")
		key, id := w.mint("bob")
		var all []<-chan line
		for range 20 {
			all = append(all, followAs(t.Context(), t, c, key, "http://pipes/v1/agents/bob/inbox"))
			time.Sleep(100 * time.Millisecond)
		}
		before := looks.Load()
		time.Sleep(4 * time.Minute)
		if n := looks.Load() - before; n < 48 || n > 75 {
			t.Errorf("the store was asked %d times in 4 minutes, for 20 streams of an agent; want a look each few seconds for all of them", n)
		}
		away.Store(true)
		time.Sleep(5 * time.Minute)
		for _, lines := range all {
			if code, open := ended(lines); code != "" || !open {
				t.Fatalf("while the store is away a stream said %q, and is open: %t; want it to go on", code, open)
			}
		}
		away.Store(false)
		if r := w.do(http.MethodDelete, "/v1/agents/bob/keys/"+id, ""); r.Code != http.StatusNoContent {
			t.Fatal(r.Code, r.Body)
		}
		time.Sleep(5 * time.Second)
		for _, lines := range all {
			if code, open := ended(lines); code != string(api.UnknownCredential) || open {
				t.Fatalf("5 s after the revocation a stream said %q, and is open: %t; want its end", code, open)
			}
		}
	})
}

// ended takes what has come, and returns the code of the problem among it, and
// whether there may come more.
func ended(lines <-chan line) (code string, open bool) {
	synctest.Wait()
	for len(lines) > 0 {
		l := <-lines
		if _, rest, ok := strings.Cut(l.text, `"code":"`); ok {
			code, _, _ = strings.Cut(rest, `"`)
		}
	}
	select {
	case _, open = <-lines:
		return code, open
	default:
		return code, true
	}
}
