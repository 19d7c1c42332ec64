// Package compress makes args and results of jobs smaller, for [work.Codecs], WorkerOptions.Codecs and
// JobOptions.Codecs. It is a module of its own, so that programs that do not compress have nothing of it.
//
//	enq, err := work.NewEnqueuer(dsn, work.Codecs(compress.New(compress.Options{}), sealer))
//
// Compress before you seal: what is sealed looks like chance and cannot be made smaller. Beside secrets do not compress
// what others choose: how long it becomes tells them whether they guessed a part of the secret.
package compress

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Name is that of the codec, as it stands beside what it has compressed.
const Name = "zstd"

// The defaults of Options.
const (
	defaultAbove = 1 << 10
	defaultMost  = 64 << 20 // what args may have
)

// Options of [New]. The zero value of each field is its default.
type Options struct {
	// Above is how many bytes a value has that is compressed; default 1 KiB, below that little is won. Negative is none
	// at all: what others have compressed is opened.
	Above int
	// Most is how many bytes a value may have when it is opened, so that a small one cannot fill the memory; default 64
	// MiB, more than any value has.
	Most int
}

// Codec is a [work.Codec] that compresses by zstd. Its methods may be called concurrently.
type Codec struct {
	above, most int
	encoder     *zstd.Encoder
	decoder     *zstd.Decoder
}

// New makes a Codec. It holds no goroutines.
func New(options Options) *Codec {
	c := &Codec{above: options.Above, most: options.Most}
	if c.above == 0 {
		c.above = defaultAbove
	}
	if c.most <= 0 {
		c.most = defaultMost
	}
	// Errors are those of options that cannot be, which these can.
	c.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderCRC(true))
	c.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(uint64(c.most)), zstd.WithDecoderConcurrency(0))
	return c
}

// Name is [Name].
func (*Codec) Name() string { return Name }

// Encode compresses a value, or leaves it as it is where it is short or would not become smaller.
func (c *Codec) Encode(_ string, open []byte) (stored []byte, key string, err error) {
	if c.above < 0 || len(open) <= c.above || len(open) > c.most {
		return nil, "", nil
	}
	stored = c.encoder.EncodeAll(open, nil)
	if len(stored) >= len(open) {
		return nil, "", nil
	}
	return stored, "", nil
}

// Decode is the value again. The error says no more than that it is not what Encode made, or larger than Options.Most.
func (c *Codec) Decode(_ string, stored []byte, _ string) (open []byte, err error) {
	open, err = c.decoder.DecodeAll(stored, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded),
		err == nil && len(open) > c.most:
		return nil, fmt.Errorf("it has more than %d bytes when it is opened: see compress.Options.Most", c.most)
	case err != nil:
		return nil, fmt.Errorf("it is not what was compressed: %w", err)
	}
	return open, nil
}
