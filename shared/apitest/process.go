package apitest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// Command is a Host that runs a program for each script: what command returns,
// not started, its standard output and error free. The program takes any free
// port, says its URL on standard output once it serves, logs to standard error,
// and ends with status 0 on SIGTERM.
func Command(apiToken, adminToken string, command func() *exec.Cmd) Host {
	return Host{Start: func() (*Service, error) {
		p := &process{cmd: command(), said: make(chan string, 1), done: make(chan struct{})}
		if err := p.start(); err != nil {
			return nil, err
		}
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case url := <-p.said:
			return &Service{URL: url, APIToken: apiToken, AdminToken: adminToken, Log: p.log.String, Stop: p.stop}, nil
		case <-p.done:
			return nil, fmt.Errorf("it ended before it served: %w\n%s", p.err, p.log.String())
		case <-late.C:
			return nil, errors.Join(fmt.Errorf("it said no URL for %v", patience), p.stop())
		}
	}}
}

type process struct {
	cmd  *exec.Cmd
	log  Buffer
	said chan string
	done chan struct{} // closed when the program has ended, with err
	err  error
}

func (p *process) start() error {
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() { // ends with the program
		defer close(p.done)
		p.listen(out)
		p.err = p.cmd.Wait()
	}()
	return nil
}

// listen reads what the program says to its end, and hands on the first URL.
func (p *process) listen(out io.Reader) {
	url := regexp.MustCompile(`https?://[A-Za-z0-9.:\[\]-]+`)
	found := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if u := url.FindString(lines.Text()); u != "" && !found {
			found = true
			p.said <- u
		}
	}
}

// stop asks the program to end, and ends it if it does not.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		return errors.Join(fmt.Errorf("it did not end within %v", patience), p.cmd.Process.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("it ended with %w\n%s", p.err, p.log.String())
	}
	return nil
}

// A Buffer keeps what a process or a logger writes. It may be written and read concurrently.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
