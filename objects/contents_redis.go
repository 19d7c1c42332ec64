package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

const (
	// uploadLife is how long the pieces of an uploader that died stay. One piece takes a few seconds on the slowest
	// link that the driver puts up with.
	uploadLife = time.Minute
	// attempts is how often a step is tried whose reply was lost, and how often an upload that expired is begun anew.
	attempts = 3
	// dropBytes and dropObjects are what one script removes at the most: Redis frees 64 MiB in a few milliseconds.
	dropBytes   = 64 << 20
	dropObjects = 100
)

// inRedis keeps contents in Redis.
type inRedis struct {
	redis rdb.Objects
	grace time.Duration
}

func (c *inRedis) put(ctx context.Context, hash Hash, content []byte) error {
	state, err := repeated(ctx,
		func() (rdb.ObjectState, error) { return c.redis.Touch(ctx, string(hash), len(content)) })
	if err != nil || state == rdb.ObjectPresent {
		return err
	}
	for range attempts {
		if state, err = c.upload(ctx, hash, content); err != nil || state != rdb.ObjectLost {
			return err
		}
	}
	return fmt.Errorf("the upload of object %s (%d bytes) expired %d times before it was complete: a piece of %d "+
		"bytes must reach Redis within %s",
		hash, len(content), attempts, rdb.ObjectPiece, uploadLife)
}

// upload writes the content under a name that nobody else knows, then puts it in its place.
func (c *inRedis) upload(ctx context.Context, hash Hash, content []byte) (rdb.ObjectState, error) {
	u := rdb.Upload{SHA: string(hash), Token: rand.Text(), Content: content, Life: uploadLife}
	for offset := 0; offset == 0 || offset < len(content); {
		next := 0
		state, err := repeated(ctx, func() (state rdb.ObjectState, err error) {
			next, state, err = c.redis.WritePiece(ctx, u, offset)
			return state, err
		})
		if err != nil || state == rdb.ObjectLost {
			return state, err
		}
		if offset = next; offset == 0 {
			break // an empty content is one empty piece
		}
	}
	return repeated(ctx, func() (rdb.ObjectState, error) { return c.redis.Keep(ctx, u) })
}

func (c *inRedis) get(ctx context.Context, hash Hash) ([]byte, error) {
	content, err := repeated(ctx, func() (rdb.Content, error) { return c.redis.Content(ctx, string(hash), MaxSize) })
	switch {
	case err != nil:
		return nil, err
	case !content.Found:
		return nil, &VanishedError{Hash: hash}
	case content.Length > MaxSize:
		return nil, &MismatchError{Hash: hash, Found: fmt.Sprintf("%d bytes", content.Length)}
	}
	return content.Bytes, nil
}

func (c *inRedis) size(_ context.Context, _ Hash, known int64) (int64, error) { return known, nil }

func (c *inRedis) drop(ctx context.Context, hashes []string) ([]string, error) {
	return repeated(ctx, func() ([]string, error) {
		return c.redis.Drop(ctx, rdb.Removal{Grace: c.grace}, hashes)
	})
}

func (c *inRedis) list(context.Context) iter.Seq2[Hash, error] {
	return func(func(Hash, error) bool) {}
}

func (c *inRedis) adopt(context.Context, []string) error { return nil }

// repeated takes a step that may be repeated until there is an answer, for as long as ctx lasts and a few times at the
// most: a lost connection should not cost an upload of 64 MiB.
func repeated[T any](ctx context.Context, step func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		answer, err := step()
		if err == nil || attempt == attempts || ctx.Err() != nil || isAnswer(err) {
			return answer, err
		}
	}
}

// isAnswer tells whether Redis answered, so that it would answer the same again.
func isAnswer(err error) bool {
	var refused *redisconn.ServerError
	var unexpected *redisconn.UnexpectedReplyError
	return errors.As(err, &refused) || errors.As(err, &unexpected)
}
