package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// codings are undone, never applied: an answer that is not compressed is always
// legal, and on loopback it is the fastest one.
type codings struct{ zstd *zstd.Decoder }

func newCodings() *codings {
	// One decoder serves all requests: DecodeAll may be called concurrently. Its
	// limit is also that of windows, and clients' encoders use up to 8 MiB
	// whatever the length of the input.
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(8<<20), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err) // only for wrong options
	}
	return &codings{zstd: d}
}

var errTooLong = errors.New("too long when decompressed")

func (c *codings) unzstd(b []byte, limit int) ([]byte, error) {
	out, err := c.zstd.DecodeAll(b, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(out) > limit:
		return nil, errTooLong
	case err != nil:
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return out, nil
}

func gunzip(b []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	if len(out) > limit {
		return nil, errTooLong
	}
	return out, nil
}
