package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The tests are in the package: a command can't be imported.

var update = flag.Bool("update", false, "rewrite the files that scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agent-chat": main})
}

// The command's behaviour, as scripts. Beside testscript's own commands they have
//
//	exits STATUS COMMAND...   run to the end, with this exit status
//	start NAME COMMAND...     run in the background, into NAME.out and NAME.err
//	await FILE REGEXP         until FILE matches, 10 s at most
//	listening NAME            until NAME has said its URL; sets AGENT_CHAT_URL, and S2_URL if it has one
//	signal NAME SIGNAL        send a signal: TERM, INT, KILL
//	ends NAME SIGNAL STATUS   send it, wait for the end; a process that a signal ended has status -1
//	finishes NAME STATUS      wait for the end, which comes by itself
//	certificate CERT KEY      make files for TLS on 127.0.0.1
//	repeat N TEXT FILE        write TEXT N times
//	mode PERMISSIONS FILE     compare a file's permissions
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TZ", "UTC")
			env.Setenv("AGENT_CHAT_API_TOKEN", "operator-token-0123456789")
			env.Setenv("AGENT_CHAT_ADMIN_TOKEN", "auditor-token-0123456789")
			env.Setenv("AGENT_CHAT_TOKEN", "operator-token-0123456789")
			running := map[string]*exec.Cmd{}
			env.Values["running"] = running
			env.Defer(func() {
				for _, cmd := range running {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "start": startProcess, "await": await, "listening": listening, "signal": sendSignal, "ends": ends, "finishes": finishes,
			"certificate": certificate, "repeat": repeat, "mode": mode,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d; want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func startProcess(ts *testscript.TestScript, _ bool, args []string) {
	running := ts.Value("running").(map[string]*exec.Cmd)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "TZ", "AGENT_CHAT_API_TOKEN", "AGENT_CHAT_ADMIN_TOKEN", "AGENT_CHAT_TOKEN", "AGENT_CHAT_URL", "AGENT_CHAT_AGENT",
		"AGENT_CHAT_DATA", "AGENT_CHAT_S2_TOKEN", "AGENT_CHAT_S2_ENDPOINT", "AGENT_CHAT_BASIN", "AGENT_CHAT_STREAM_MAX_AGE", "AGENT_CHAT_PII_POLICY",
	} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer out.Close()
	errOut, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer errOut.Close()
	cmd.Stdout, cmd.Stderr = out, errOut
	ts.Check(cmd.Start())
	running[args[0]] = cmd
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	waitFor(ts, args[0], args[1])
}

func waitFor(ts *testscript.TestScript, file, pattern string) []string {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(ts.MkAbs(file))
		if m := re.FindStringSubmatch(string(b)); m != nil {
			return m
		}
		if time.Now().After(deadline) {
			other, _ := os.ReadFile(ts.MkAbs(strings.TrimSuffix(file, ".out") + ".err"))
			ts.Fatalf("%s never matched %s (%v):\n%s\n%s", file, pattern, err, b, other)
		}
	}
}

func listening(ts *testscript.TestScript, _ bool, args []string) {
	m := waitFor(ts, args[0]+".out", `(?:listens on |"url":"|serves the S2 API on |"s2_endpoint":")(https?://[0-9.:]+)[^$]*\n`)
	ts.Setenv("AGENT_CHAT_URL", m[1])
	if b := ts.ReadFile(args[0] + ".out"); strings.Contains(b, "S2 API") {
		ts.Setenv("S2_URL", regexp.MustCompile(`S2 API (?:is )?on (https?://[0-9.:]*[0-9])`).FindStringSubmatch(b)[1])
	}
}

func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	ts.Check(ts.Value("running").(map[string]*exec.Cmd)[args[0]].Process.Signal(signals[args[1]]))
}

func ends(ts *testscript.TestScript, _ bool, args []string) {
	sendSignal(ts, false, args)
	finishes(ts, false, []string{args[0], args[2]})
}

func finishes(ts *testscript.TestScript, _ bool, args []string) {
	running := ts.Value("running").(map[string]*exec.Cmd)
	cmd := running[args[0]]
	delete(running, args[0])
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		_ = cmd.Process.Kill()
		ts.Fatalf("%s did not end", args[0])
	}
	if got := cmd.ProcessState.ExitCode(); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s: exit status %d; want %s\n%s", args[0], got, args[1], ts.ReadFile(args[0]+".err"))
	}
}

func certificate(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent-chat test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

func repeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(args[1], n)), 0o600))
}

func mode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(filepath.FromSlash(args[1])))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(st.Mode().Perm()), 8); got != args[0] {
		ts.Fatalf("%s has mode %s; want %s", args[1], got, args[0])
	}
}
