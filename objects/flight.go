package objects

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
)

// flight is one download that any number of readers wait for. It is no call of a singleflight.Group, which cannot tell
// that nobody waits any longer, nor ends one call when the cache is closed, and ends the process when the source
// panics.
type flight struct {
	hash    Hash
	cancel  context.CancelCauseFunc
	readers int           // guarded by the cache's mu
	landed  chan struct{} // closed when content and err are there
	content []byte
	err     error
}

// errDeserted is why a download ends that nobody waits for any more.
var errDeserted = errors.New("nobody waits for this object any more")

// begin starts a download that no single reader can end. It has the values of the first reader's ctx. The caller holds
// mu.
func (c *Cache) begin(ctx context.Context, hash Hash) *flight {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f := &flight{hash: hash, cancel: cancel, landed: make(chan struct{})}
	c.flights[hash] = f
	c.flying.Go(func() {
		defer cancel(nil)
		defer close(f.landed)
		f.content, f.err = download(ctx, c.source, hash)
		if f.err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
			f.err = ErrClosed
		}
		c.land(f)
	})
	return f
}

// download reads the source; a panic there is an error of this object.
func download(ctx context.Context, source Source, hash Hash) (content []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			content, err = nil, fmt.Errorf("reading object %s panicked: %s\n%s", hash,
				excerpt.Text(fmt.Sprint(value), excerpt.Name), excerpt.Text(excerpt.PanicStack(), excerpt.Whole/2))
		}
	}()
	return source.Get(ctx, hash)
}

func (c *Cache) land(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[f.hash] == f {
		delete(c.flights, f.hash)
	}
	if f.err == nil && !c.closed {
		c.hold(&entry{hash: f.hash, content: f.content})
	}
}

// leave takes a reader away. The last one ends the download, and whoever comes then begins another.
func (c *Cache) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.readers--; f.readers > 0 {
		return
	}
	f.cancel(errDeserted)
	if c.flights[f.hash] == f {
		delete(c.flights, f.hash)
	}
}
