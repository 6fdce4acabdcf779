// Command lambdabench measures the built Lambda functions behind the emulated
// Runtime API, and the same handlers in this process beside them, all on the S2
// API at an address. It prints a Markdown table.
//
//	lambdabench -functions build/lambda -s2 http://127.0.0.1:8081 -token T
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentchat/functions"
	"agentchat/shared/env"
	"agentchat/shared/gateway"
	"agentchat/shared/stream/s2stream"
)

const token = "operator-token-of-the-bench"

// An operation is what is measured of a family.
type operation struct{ name, family, method, path, body string }

func operations() []operation {
	return []operation{
		{"`GET /healthz`", "service", http.MethodGet, "/healthz", ""},
		{"`GET /v1/agents/bob`", "agents", http.MethodGet, "/v1/agents/bob", ""},
		{"send", "messages", http.MethodPost, "/v1/agents/alice/messages", `{"to":"bob","text":"hello"}`},
		{"read a page of 10", "inbox", http.MethodGet, "/v1/agents/bob/inbox?cursor=0&limit=10", ""},
	}
}

type bench struct {
	dir     string // of the functions, by target
	environ []string
	cold    int
	warm    int
	client  *http.Client
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lambdabench:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	b := &bench{client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	flag.StringVar(&b.dir, "functions", "build/lambda", "`folder` of the built functions")
	flag.IntVar(&b.cold, "cold", 30, "cold starts of each")
	flag.IntVar(&b.warm, "warm", 3000, "warm requests of each")
	s2 := flag.String("s2", "", "`URL` of the S2 API")
	s2Token := flag.String("token", "", "its token")
	flag.Parse()
	variables := map[string]string{env.APIToken: token, env.S2Endpoint: *s2, env.S2Token: *s2Token, env.Basin: "lambda-bench"}
	for name, v := range variables {
		b.environ = append(b.environ, name+"="+v)
	}
	ctx := context.Background()
	store, err := s2stream.New(s2stream.Options{Token: *s2Token, Endpoint: *s2, Basin: variables[env.Basin]})
	if err != nil {
		return err
	}
	if err := store.Ensure(ctx); err != nil {
		return err
	}
	e, err := env.FromEnviron("messages", func(name string) string { return variables[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	url, stop, err := listen(ctx, functions.Handler(e))
	if err != nil {
		return err
	}
	defer stop()
	for _, o := range []operation{
		{method: http.MethodPut, path: "/v1/agents/alice", body: "{}"},
		{method: http.MethodPut, path: "/v1/agents/bob", body: "{}"},
	} {
		if _, err := b.do(ctx, url, o); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "| function | operation | arm64 binary, zipped | cold start p50, p99 | warm p50, p99 | the same in process | memory (PSS) |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- |")
	for _, o := range operations() {
		if err := b.measure(ctx, out, url, o); err != nil {
			return fmt.Errorf("%s: %w", o.family, err)
		}
	}
	return nil
}

// measure prints the row of an operation.
func (b *bench) measure(ctx context.Context, out io.Writer, inProcess string, o operation) error {
	size, zipped, err := weigh(filepath.Join(b.dir, "arm64", o.family, "bootstrap"))
	if err != nil {
		return err
	}
	var cold []time.Duration
	for range b.cold {
		d, err := b.coldStart(ctx, o)
		if err != nil {
			return err
		}
		cold = append(cold, d)
	}
	g, url, stop, err := b.gateway(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer g.Close()
	warm, err := b.repeat(ctx, url, o)
	if err != nil {
		return err
	}
	memory, err := memoryOf(o.family)
	if err != nil {
		return err
	}
	local, err := b.repeat(ctx, inProcess, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %s | %s | %.1f MB, %.1f MB | %s | %s | %s | %.1f MiB |\n",
		o.family, o.name, float64(size)/1e6, float64(zipped)/1e6, show(cold), show(warm), show(local), float64(memory)/1024)
	return nil
}

// coldStart is from the request that starts the process to its whole answer.
func (b *bench) coldStart(ctx context.Context, o operation) (time.Duration, error) {
	g, url, stop, err := b.gateway(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	defer g.Close()
	return b.do(ctx, url, o)
}

func (b *bench) gateway(ctx context.Context) (*gateway.Gateway, string, func(), error) {
	fs, err := gateway.Bootstraps(filepath.Join(b.dir, "host"), b.environ...)
	if err != nil {
		return nil, "", nil, err
	}
	g := gateway.New(gateway.Options{Functions: fs, Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	url, stop, err := listen(ctx, g)
	return g, url, stop, err
}

func (b *bench) repeat(ctx context.Context, url string, o operation) ([]time.Duration, error) {
	var all []time.Duration
	for n := range b.warm + b.warm/10 {
		d, err := b.do(ctx, url, o)
		if err != nil {
			return nil, err
		}
		if n >= b.warm/10 {
			all = append(all, d)
		}
	}
	return all, nil
}

func (b *bench) do(ctx context.Context, url string, o operation) (time.Duration, error) {
	var body io.Reader
	if o.body != "" {
		body = strings.NewReader(o.body)
	}
	r, err := http.NewRequestWithContext(ctx, o.method, url+o.path, body)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	begun := time.Now()
	resp, err := b.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	took := time.Since(begun)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", o.method, o.path, resp.StatusCode, text)
	}
	return took, err
}

func listen(ctx context.Context, h http.Handler) (url string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // ends with stop
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}

// weigh returns the size of a file, and what is uploaded of it.
func weigh(path string) (size, zipped int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	var z bytes.Buffer
	w, err := flate.NewWriter(&z, flate.BestCompression)
	if err != nil {
		return 0, 0, err
	}
	_, err = w.Write(b)
	return len(b), z.Len(), errors.Join(err, w.Close())
}

// memoryOf returns the KiB that a family's processes, children of this one, hold
// for themselves on average.
func memoryOf(family string) (int, error) {
	children, err := filepath.Glob("/proc/" + strconv.Itoa(os.Getpid()) + "/task/*/children")
	if err != nil {
		return 0, err
	}
	total, processes := 0, 0
	for _, list := range children {
		b, _ := os.ReadFile(list) // a thread may have ended
		for _, pid := range strings.Fields(string(b)) {
			exe, err := os.Readlink("/proc/" + pid + "/exe")
			if err != nil || filepath.Base(filepath.Dir(exe)) != family {
				continue
			}
			b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
			if err != nil {
				return 0, err
			}
			for line := range strings.Lines(string(b)) {
				if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
					n, err := strconv.Atoi(f[1])
					if err != nil {
						return 0, err
					}
					total, processes = total+n, processes+1
				}
			}
		}
	}
	if processes == 0 {
		return 0, fmt.Errorf("no process of %s", family)
	}
	return total / processes, nil
}

func show(all []time.Duration) string {
	slices.Sort(all)
	at := func(q float64) float64 {
		return float64(all[min(len(all)-1, int(q*float64(len(all))))].Microseconds()) / 1000
	}
	return fmt.Sprintf("%.2f ms, %.2f ms", at(.50), at(.99))
}
