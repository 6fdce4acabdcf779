package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"agentchat/shared/api"
	"agentchat/shared/coordinator"
	"agentchat/shared/strictjson"
)

const (
	maxLine  = 2 << 20         // bytes of an agent's line: the largest content with all of it escaped
	lastWord = 5 * time.Second // how long a command that was told to end may take
)

// A heard is an act, or why a line is none.
type heard struct {
	act coordinator.Act
	err error
}

// A stdioAgent is at the other end of standard output and input.
type stdioAgent struct{ *chats }

// Present writes the batch as a line.
func (s *stdioAgent) Present(_ context.Context, p coordinator.Presentation) error {
	s.object(s.out, p)
	return nil
}

// Acts yields what the lines of standard input say, up to its end.
func (s *stdioAgent) Acts(ctx context.Context) iter.Seq2[coordinator.Act, error] {
	// A read of standard input can't be called off: this goroutine ends with the
	// input, or with the process.
	all := make(chan heard)
	go func() {
		defer close(all)
		if err := hear(ctx, s.in, all); err != nil && ctx.Err() == nil {
			s.note("standard input: %v", err)
		}
	}()
	return upTo(ctx, all)
}

// Tell writes what came of a line.
func (s *stdioAgent) Tell(e coordinator.Event) { s.object(s.out, e) }

// An execAgent is a command that is started for each batch.
type execAgent struct {
	*chats
	command string
	acts    chan heard
	running sync.WaitGroup
}

// Present starts the command, with the batch as a document on its standard input.
func (x *execAgent) Present(ctx context.Context, p coordinator.Presentation) error {
	document, err := strictjson.Append(nil, p)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", x.command)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lastWord
	cmd.Stdin = bytes.NewReader(append(document, '\n'))
	cmd.Stderr = x.errOut
	r, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	x.running.Go(func() { _ = w.CloseWithError(cmd.Wait()) }) // never fails
	x.running.Go(func() {
		err := hear(ctx, r, x.acts) // what it said is heard before its end is
		_ = r.Close()               // never fails
		select {
		case x.acts <- heard{act: coordinator.Act{Ended: true, Err: err}}:
		case <-ctx.Done():
		}
	})
	return nil
}

// Acts yields what the command says, and its ends. When ctx is done it waits for
// the command, which is told to end.
func (x *execAgent) Acts(ctx context.Context) iter.Seq2[coordinator.Act, error] {
	return func(yield func(coordinator.Act, error) bool) {
		defer x.running.Wait()
		upTo(ctx, x.acts)(yield)
	}
}

// Tell says what came of a line, or of the command.
func (x *execAgent) Tell(e coordinator.Event) {
	switch {
	case x.json:
		x.object(x.out, e)
	case e.Event == "refused":
		x.note("refused: %s", e.Detail)
	case e.BatchID != "" && e.Event == "sent":
		x.say("sent at %d, in reply to %s", *e.Position, e.BatchID)
	case e.BatchID != "":
		x.say("acknowledged %s at %d", e.BatchID, *e.Position)
	default:
		x.say("sent at %d", *e.Position)
	}
}

// upTo yields what comes over a channel until it is closed or ctx is done.
func upTo(ctx context.Context, all <-chan heard) iter.Seq2[coordinator.Act, error] {
	return func(yield func(coordinator.Act, error) bool) {
		for {
			select {
			case h, ok := <-all:
				if !ok || !yield(h.act, h.err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// hear hands over what the lines of r say, until r ends or ctx does, and returns
// how r ended; nil if that is well.
func hear(ctx context.Context, r io.Reader, to chan<- heard) error {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of it
			_, err = in.ReadSlice('\n')
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var h heard
			if long {
				h.err = fmt.Errorf("a line is longer than %d bytes", maxLine)
			} else {
				h.act, h.err = actOf(line)
			}
			select {
			case to <- h:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// actOf returns what a line says.
func actOf(line []byte) (act coordinator.Act, err error) {
	err = strictjson.Decode(line, &act)
	if e, ok := errors.AsType[*api.Error](err); ok {
		err = fmt.Errorf("a line is no act: %s %s", e.Detail, e.Field)
	}
	return act, err
}
