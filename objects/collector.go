package objects

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Collected says what a collector did.
type Collected struct {
	Objects    int   // removed
	Bytes      int64 // of their contents; 0 where contents have a home of their own
	References int   // removed, of jobs that have neither a record nor an outcome
}

// Collect goes once over all objects, as [Collector] does in steps. Any number may do so at a time.
func (s *Store) Collect(ctx context.Context) (Collected, error) {
	c := s.Collector()
	var sum Collected
	for {
		step, done, err := c.Step(ctx)
		sum.add(step)
		if err != nil || done {
			return sum, err
		}
	}
}

func (c *Collected) add(more Collected) {
	c.Objects += more.Objects
	c.Bytes += more.Bytes
	c.References += more.References
}

// Collector removes what nobody needs, in small steps: references of jobs that have neither a record nor an outcome,
// and objects without references that were not used for the grace period. Each script looks again at what it removes,
// so an object that is put or referred to at that moment stays. One goroutine uses a Collector at a time.
type Collector struct {
	store   *Store
	listed  func() (Hash, error, bool) // the next content of another home, while these are adopted
	unlist  func()
	adopted bool
	begun   bool
	now     time.Time // Redis' clock, when the walk began
	cursor  string
	page    []rdb.ObjectInfo // still to be looked at
	members string           // cursor in the references of the first of the page; empty before it was begun
	pruned  int              // of these
	old     []rdb.ObjectInfo // of this page, which may go
}

// Collector makes one that begins with the first object.
func (s *Store) Collector() *Collector { return &Collector{store: s} }

// Step does a bounded piece of work, of a few requests: it reads the next objects, or about 500 references of one, or
// removes up to 100 objects and 64 MiB. It answers done after the last object; the next step begins anew. After an
// error, too, the walk begins anew. Where contents have another home, the first steps list that, 500 contents each:
// Close ends such a listing.
func (c *Collector) Step(ctx context.Context) (Collected, bool, error) {
	did, done, err := c.step(ctx)
	if err != nil || done {
		c.Close()
	}
	return did, done, err
}

// Close ends a walk that is given up. The next step begins anew.
func (c *Collector) Close() {
	if c.unlist != nil {
		c.unlist()
	}
	*c = Collector{store: c.store}
}

func (c *Collector) step(ctx context.Context) (Collected, bool, error) {
	switch {
	case !c.adopted:
		return Collected{}, false, c.adopt(ctx)
	case !c.begun:
		return Collected{}, false, c.begin(ctx)
	case len(c.page) > 0:
		did, err := c.look(ctx)
		return did, false, err
	case len(c.old) > 0:
		did, err := c.drop(ctx)
		return did, false, err
	case c.cursor == "0":
		return Collected{}, true, nil
	default:
		return Collected{}, false, c.read(ctx, c.cursor)
	}
}

// adoptBatch is how many contents of another home one step looks at.
const adoptBatch = 500

// adopt goes on with the listing of another home, and notes in Redis what is not known there.
func (c *Collector) adopt(ctx context.Context) error {
	if c.listed == nil {
		life, end := context.WithCancel(context.WithoutCancel(ctx)) // it goes on in the next steps
		next, stop := iter.Pull2(c.store.contents.list(life))
		c.listed, c.unlist = next, func() { end(); stop() }
	}
	var batch []string
	for more := true; more && len(batch) < adoptBatch; {
		var hash Hash
		var err error
		if hash, err, more = c.listed(); err != nil {
			return fmt.Errorf("the objects in their home cannot be listed: %w", err)
		}
		if more {
			batch = append(batch, string(hash))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.adopted = !more
	}
	return c.store.contents.adopt(ctx, batch)
}

func (c *Collector) begin(ctx context.Context) error {
	now, err := c.store.redis.Store.Time(ctx)
	if err != nil {
		return err
	}
	c.begun, c.now = true, now
	return c.read(ctx, "0")
}

func (c *Collector) read(ctx context.Context, cursor string) (err error) {
	c.cursor, c.page, err = c.store.redis.Page(ctx, cursor)
	return err
}

// look goes over the objects of the page, up to the next part of the references of one. Those that nobody refers to any
// more and that are old are noted; the script decides.
func (c *Collector) look(ctx context.Context) (Collected, error) {
	for ; len(c.page) > 0; c.page = c.page[1:] {
		o := c.page[0]
		if o.References != 0 {
			return c.prune(ctx, o)
		}
		c.note(o)
	}
	return Collected{}, nil
}

func (c *Collector) note(o rdb.ObjectInfo) {
	if !o.LastUse.Add(c.store.options.Grace).After(c.now) {
		c.old = append(c.old, o)
	}
}

func (c *Collector) prune(ctx context.Context, o rdb.ObjectInfo) (Collected, error) {
	if o.References < 0 { // its set is something else: the doctor says so
		c.page = c.page[1:]
		return Collected{}, nil
	}
	if c.members == "" {
		c.members = "0"
	}
	next, removed, err := c.store.redis.Prune(ctx, o.SHA, c.members)
	c.pruned += removed
	if c.members = next; next == "0" {
		if c.pruned >= o.References {
			c.note(o)
		}
		c.page, c.members, c.pruned = c.page[1:], "", 0
	}
	return Collected{References: removed}, err
}

// drop removes some of the old ones.
func (c *Collector) drop(ctx context.Context) (Collected, error) {
	sizes := map[string]int64{}
	var batch []string
	for bytes := int64(0); len(c.old) > 0 && len(batch) < dropObjects; c.old = c.old[1:] {
		o := c.old[0]
		if bytes += o.Size; bytes > dropBytes && len(batch) > 0 {
			break
		}
		batch, sizes[o.SHA] = append(batch, o.SHA), o.Size
	}
	dropped, err := c.store.contents.drop(ctx, batch)
	did := Collected{Objects: len(dropped)}
	for _, sha := range dropped {
		did.Bytes += sizes[sha]
	}
	return did, err
}
