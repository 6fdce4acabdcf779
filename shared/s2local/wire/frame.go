package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The S2S framing of sessions: three bytes of length (of flag and body), a flag
// byte, the body. A terminal frame's body is a status and the error's JSON, and
// nothing follows it.
const (
	maxFrame        = 2 << 20      // flag and body
	maxDecompressed = maxFrame - 1 // a body, decompressed

	flagTerminal = 0x80
	flagZstd     = 0x20
	flagGzip     = 0x40
	flagCoding   = flagZstd | flagGzip
)

var errFrame = errors.New("bad frame")

// nextFrame reads one frame from a client and returns its body, decompressed.
// io.EOF means that the client ended between frames; everything else that is
// wrong with the bytes wraps errFrame.
func (c *codings) nextFrame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: the body ends in a frame's head", errFrame)
		}
		return nil, err
	}
	size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	flag := head[3]
	switch {
	case size < 1 || size > maxFrame:
		return nil, fmt.Errorf("%w: a length of %d, not 1 to %d", errFrame, size, maxFrame)
	case flag&flagTerminal != 0:
		return nil, fmt.Errorf("%w: a client sends no terminal frame", errFrame)
	case flag&flagCoding == flagCoding:
		return nil, fmt.Errorf("%w: unknown compression", errFrame)
	}
	body, err := readBody(r, size-1)
	if err != nil {
		return nil, err
	}
	switch flag & flagCoding {
	case flagZstd:
		body, err = c.unzstd(body, maxDecompressed)
	case flagGzip:
		body, err = gunzip(body, maxDecompressed)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return body, nil
}

// readBody reads size bytes. It takes memory as they come, so that a length
// alone, with nothing behind it, costs nothing.
func readBody(r *bufio.Reader, size int) ([]byte, error) {
	const step = 64 << 10
	body := make([]byte, 0, min(size, step))
	for len(body) < size {
		n := min(size-len(body), max(step, len(body)))
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(r, body[len(body)-n:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, fmt.Errorf("%w: the body ends in a frame", errFrame)
			}
			return nil, err
		}
	}
	return body, nil
}

// beginFrame appends the head of a regular frame whose length is not known yet
// to dst; endFrame fills it in. The frame is dst from at on.
func beginFrame(dst []byte) (frame []byte, at int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// endFrame reports false if the frame is too long to be sent.
func endFrame(frame []byte, at int) bool {
	size := len(frame) - at - 3
	if size > maxFrame {
		return false
	}
	frame[at], frame[at+1], frame[at+2] = byte(size>>16), byte(size>>8), byte(size)
	return true
}

// appendTerminal appends the frame that ends a session with f.
func appendTerminal(dst []byte, f *fault) []byte {
	dst, at := beginFrame(dst)
	dst[at+3] = flagTerminal
	dst = binary.BigEndian.AppendUint16(dst, uint16(f.status)) // an HTTP status
	dst = append(dst, f.body()...)
	endFrame(dst, at)
	return dst
}
