package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentchat/shared/gateway"
)

// AWS's own emulator of the Runtime API makes of a function what ours makes of
// it. It takes one event at a time and hands on a stream whole, as it came from
// the function: the prelude, eight NUL bytes, the body.
func TestAgreesWithTheOfficialEmulator(t *testing.T) {
	rie, err := exec.LookPath("aws-lambda-rie")
	if err != nil {
		t.Skip("make test-rie runs it: " + err.Error())
	}
	dir := bootstraps(t)
	ours, err := start(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.stop() }()
	for _, row := range []struct{ family, mode, method, target, body string }{
		{"service", "BUFFERED", "GET", "/v1/limits", ""},
		{"service", "BUFFERED", "HEAD", "/healthz", ""},
		{"service", "BUFFERED", "POST", "/healthz", "{}"},
		{"service", "RESPONSE_STREAM", "GET", "/v1/limits", ""},
		{"inbox", "RESPONSE_STREAM", "GET", "/v1/agents/bob/inbox?follow=true", ""},
	} {
		t.Run(row.family+" "+row.mode+" "+row.method+" "+row.target, func(t *testing.T) {
			theirs := startRIE(t, rie, filepath.Join(dir, row.family, "bootstrap"), row.mode)
			r := httptest.NewRequest(row.method, row.target, strings.NewReader(row.body))
			r.Header.Set("X-Request-Id", "req-1")
			event, err := gateway.Event(r, "id")
			if err != nil {
				t.Fatal(err)
			}
			want := invokeRIE(t, theirs, row.mode, event)
			r2, err := http.NewRequestWithContext(t.Context(), row.method, ours.front.URL+row.target, strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			r2.Header.Set("X-Request-Id", "req-1")
			resp, err := new(http.Client).Do(r2)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			resp.Header.Del("Date") // the front's own
			if diff := cmp.Diff(want, answer{status: resp.StatusCode, header: resp.Header, body: string(b)}, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("the official emulator's (-), ours (+):\n%s", diff)
			}
		})
	}
}

// startRIE starts the official emulator over a bootstrap, for one test, and returns its URL.
func startRIE(t *testing.T, rie, bootstrap, mode string) string {
	t.Helper()
	address := freeAddress(t)
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", address, "--runtime-api-address", freeAddress(t), bootstrap)
	cmd.Env = append(os.Environ(), "AGENT_CHAT_INVOKE_MODE="+mode, "AGENT_CHAT_API_TOKEN="+apiToken, "AGENT_CHAT_S2_TOKEN="+s2Token, "AWS_LAMBDA_FUNCTION_TIMEOUT=60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends its function, too
		late := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return "http://" + address + "/2015-03-31/functions/function/invocations"
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not accept: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func invokeRIE(t *testing.T, url, mode string, event []byte) answer {
	t.Helper()
	resp, err := new(http.Client).Post(url, "application/json", bytes.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
	}
	head, body, streamed := bytes.Cut(b, make([]byte, 8))
	if streamed != (mode == "RESPONSE_STREAM") {
		t.Fatalf("mode %s: %q", mode, b)
	}
	if err := json.Unmarshal(head, &doc); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	if streamed {
		doc.Body = string(body)
	}
	a := answer{status: doc.StatusCode, header: http.Header{}, body: doc.Body}
	for k, v := range doc.Headers {
		a.header.Set(k, v)
	}
	return a
}
