package main

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// A server writes a line for every request: by itself, that is one system call
// in twenty of what a send costs.
const (
	logDelay  = 100 * time.Millisecond // before a line is written; a killed process loses as much
	logBuffer = 64 << 10
)

// logger returns the server's log: JSON lines on standard error, written
// together. flush writes what is left.
func (a *app) logger() (log *slog.Logger, flush func()) {
	level := slog.LevelInfo
	if a.verbose {
		level = slog.LevelDebug
	}
	w := &lineWriter{w: a.errOut}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), w.flush
}

// A lineWriter writes after logDelay, or as soon as logBuffer is full. Its
// methods may be called concurrently.
type lineWriter struct {
	w io.Writer

	mu      sync.Mutex
	lines   []byte
	waiting bool // for flush, which is due
}

func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line...)
	switch {
	case len(l.lines) >= logBuffer:
		l.write()
	case !l.waiting:
		l.waiting = true
		time.AfterFunc(logDelay, l.flush)
	}
	return len(line), nil
}

func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = false
	l.write()
}

// write writes what there is; a log that can't be written is nobody's fault. l.mu is held.
func (l *lineWriter) write() {
	if len(l.lines) > 0 {
		_, _ = l.w.Write(l.lines)
		l.lines = l.lines[:0]
	}
}
