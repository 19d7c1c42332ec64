package objects

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

const (
	// lease is how long a collector has the right to take contents out of a home. It begins nothing in the second half:
	// what it began must have ended when another one may store the same content.
	lease = time.Minute
	// leavingLook is how often one who waits for that looks.
	leavingLook = 100 * time.Millisecond
)

// atHome keeps contents in a home. No script sees what is in there, so an object is reserved in Redis before its
// content is written, and marked as leaving before its content is removed.
type atHome struct {
	redis rdb.Objects
	home  Home
	grace time.Duration
	owner ownership
}

func (c *atHome) put(ctx context.Context, hash Hash, content []byte) error {
	if err := c.reserve(ctx, hash); err != nil {
		return err
	}
	for range attempts {
		if err := c.home.Put(ctx, hash, content); err != nil {
			return fmt.Errorf("object %s could not be stored in its home: %w", hash, err)
		}
		state, err := repeated(ctx, func() (rdb.ObjectState, error) { return c.redis.Reserve(ctx, string(hash)) })
		if err != nil || state == rdb.ObjectPresent {
			return err
		}
		// It took longer than the grace period, and a collector came by.
		if err := c.reserve(ctx, hash); err != nil {
			return err
		}
	}
	return fmt.Errorf("object %s was collected %d times before its %d bytes were stored: use a Grace above %s",
		hash, attempts, len(content), c.grace)
}

// reserve notes the use; while a collector takes the same content away it waits.
func (c *atHome) reserve(ctx context.Context, hash Hash) error {
	if err := c.owner.claim(ctx, c.home); err != nil {
		return err
	}
	for {
		state, err := repeated(ctx, func() (rdb.ObjectState, error) { return c.redis.Reserve(ctx, string(hash)) })
		if err != nil || state != rdb.ObjectLeaving {
			return err
		}
		select {
		case <-time.After(leavingLook):
		case <-ctx.Done():
			return fmt.Errorf("object %s is being removed, its content cannot be stored until that has ended: %w", hash,
				context.Cause(ctx))
		}
	}
}

func (c *atHome) get(ctx context.Context, hash Hash) ([]byte, error) { return c.home.Get(ctx, hash) }

func (c *atHome) size(ctx context.Context, hash Hash, _ int64) (int64, error) {
	size, _, err := c.home.Has(ctx, hash)
	return size, err
}

// drop marks objects as leaving, takes their contents out and removes the marks. What it does not come to, since the
// home fails or its time is over, is adopted later.
func (c *atHome) drop(ctx context.Context, hashes []string) ([]string, error) {
	if err := c.owner.claim(ctx, c.home); err != nil {
		return nil, err
	}
	mark := rand.Text()
	ctx, cancel := context.WithTimeout(ctx, lease/2) // from before the marks are made
	defer cancel()
	dropped, err := repeated(ctx, func() ([]string, error) {
		return c.redis.Drop(ctx, rdb.Removal{Grace: c.grace, Mark: mark, Lease: lease}, hashes)
	})
	if err != nil {
		return nil, err
	}
	for i, sha := range dropped {
		if err := c.home.Delete(ctx, Hash(sha)); err != nil {
			return dropped[:i], fmt.Errorf("object %s could not be removed from its home: %w", sha, err)
		}
		_, err := repeated(ctx, func() (struct{}, error) { return struct{}{}, c.redis.Gone(ctx, sha, mark) })
		if err != nil {
			return dropped[:i], err
		}
	}
	return dropped, nil
}

func (c *atHome) list(ctx context.Context) iter.Seq2[Hash, error] { return c.home.List(ctx) }

// adopt notes a use of every content that Redis does not know, of which a collector died or Redis lost its data.
func (c *atHome) adopt(ctx context.Context, hashes []string) error {
	if err := c.owner.claim(ctx, c.home); err != nil { // else the objects of another namespace would be ours
		return err
	}
	unknown, err := c.redis.Unknown(ctx, hashes)
	if err != nil {
		return err
	}
	for _, hash := range unknown {
		if _, err := c.redis.Reserve(ctx, hash); err != nil {
			return err
		}
	}
	return nil
}
