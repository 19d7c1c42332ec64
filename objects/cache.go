package objects

import (
	"container/list"
	"context"
	"sync"
)

// entryOverhead is about what an entry needs beside its content, so that many small ones count as well.
const entryOverhead = 256

// Cache keeps the contents that were read last, up to a number of bytes. Readers of one hash that come while it is
// being read share that one download. Its methods may be called concurrently.
type Cache struct {
	source Source
	bound  int64

	mu      sync.Mutex
	entries map[Hash]*list.Element // of *entry
	recent  *list.List             // the front was used last
	flights map[Hash]*flight
	counts  CacheStatistics
	closed  bool
	flying  sync.WaitGroup
}

type entry struct {
	hash    Hash
	content []byte
}

func (e *entry) cost() int64 { return int64(len(e.content)) + entryOverhead }

// CacheStatistics says what a cache holds, and what it did so far.
type CacheStatistics struct {
	Count     int   // contents that it holds
	Bytes     int64 // of these, with 256 for each beside its content; never above the bound
	Hits      int64 // reads that it answered by itself
	Shared    int64 // reads that joined a download under way
	Downloads int64 // reads of the source, whatever came of them
}

// NewCache makes a cache that holds at most so many bytes. A content that does not fit is read and shared, and not
// held; with 0 or less that is so for all. Downloads under way are not held yet: they come on top, at most [MaxSize]
// each. The source verifies contents, once for each download. Close ends the cache.
func NewCache(source Source, bytes int64) *Cache {
	return &Cache{source: source, bound: bytes, entries: map[Hash]*list.Element{}, recent: list.New(),
		flights: map[Hash]*flight{}}
}

// Get returns a content from the cache or the source. All readers get the same bytes, which nobody may change. When ctx
// ends, only this reader gives up: the download ends when no reader is left. Errors are those of the source, and are
// not kept; after Close it is [ErrClosed].
func (c *Cache) Get(ctx context.Context, hash Hash) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	content, f, err := c.find(ctx, hash)
	if f == nil {
		return content, err
	}
	select {
	case <-f.landed:
		return f.content, f.err
	case <-ctx.Done():
		c.leave(f)
		return nil, context.Cause(ctx)
	}
}

// find returns what the cache holds, or the download to wait for, which it begins if need be.
func (c *Cache) find(ctx context.Context, hash Hash) ([]byte, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if element := c.entries[hash]; element != nil {
		c.counts.Hits++
		c.recent.MoveToFront(element)
		return element.Value.(*entry).content, nil, nil
	}
	f := c.flights[hash]
	if f == nil {
		c.counts.Downloads++
		f = c.begin(ctx, hash)
	} else {
		c.counts.Shared++
	}
	f.readers++
	return nil, f, nil
}

// hold takes a content in, and lets go of those that were not used for longest.
func (c *Cache) hold(e *entry) {
	if e.cost() > c.bound || c.entries[e.hash] != nil {
		return
	}
	for c.counts.Bytes+e.cost() > c.bound {
		c.release(c.recent.Back())
	}
	c.entries[e.hash] = c.recent.PushFront(e)
	c.counts.Count++
	c.counts.Bytes += e.cost()
}

func (c *Cache) release(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	delete(c.entries, e.hash)
	c.counts.Count--
	c.counts.Bytes -= e.cost()
}

// Statistics says what the cache holds at this moment.
func (c *Cache) Statistics() CacheStatistics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Close ends the downloads under way, whose readers get [ErrClosed], waits for them and lets go of everything. Closing
// again does nothing.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	for _, f := range c.flights {
		f.cancel(ErrClosed)
	}
	for c.recent.Len() > 0 {
		c.release(c.recent.Back())
	}
	c.mu.Unlock()
	c.flying.Wait()
}
