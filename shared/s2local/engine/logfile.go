package engine

import (
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logStep is by how much a file of Pebble's log grows at once.
const logStep = 1 << 20

var zeros [logStep]byte

// A logFS lets the files of Pebble's log grow ahead of what is written to them. A
// sync of bytes that overwrite others writes just these; one that makes a file
// longer writes its inode too, a second write for the disk to wait for. (Pebble
// uses its log files again for the same reason, but only from the seventh on.)
// What is read behind the end of a log is zero, which to Pebble is its end.
type logFS struct{ vfs.FS }

func (l logFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, c)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return &logFile{File: f}, nil
}

func (l logFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.ReuseForWrite(old, name, c)
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &logFile{File: f, size: info.Size()}, nil
}

func (l logFS) Unwrap() vfs.FS { return l.FS }

// A logFile is written from its beginning to its end.
type logFile struct {
	vfs.File
	written, size int64
}

func (f *logFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.written += int64(n)
	if err == nil && f.written > f.size {
		f.grow()
	}
	return n, err
}

// grow makes room for what is written next. Where the disk has none, the file
// grows by what is written.
func (f *logFile) grow() {
	f.size = f.written + logStep - f.written%logStep
	if _, err := f.WriteAt(zeros[:f.size-f.written], f.written); err != nil {
		f.size = math.MaxInt64
	}
}

// Preallocate does nothing: a log grows by little, and Pebble would reserve 36 MB of
// the disk for each.
func (f *logFile) Preallocate(int64, int64) error { return nil }
