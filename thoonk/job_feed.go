package thoonk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// JobFeed is a queue whose items are claimed instead of taken out: a job leaves the feed when its worker finishes it,
// and one whose worker died comes back by [JobFeed.Maintain]. T is what a job is, R what its result is. Its methods may
// be called concurrently.
type JobFeed[T, R any] struct {
	*feed
	items   Codec[T]
	results Codec[R]
}

// OpenJobFeed opens a job feed; a nil codec is [JSON]. It fails with [ErrNoFeed], see [OrCreate], or a [*KindError].
//
//lint:ignore params the options are most often left out
func OpenJobFeed[T, R any](ctx context.Context, c *Client, name string, items Codec[T],
	results Codec[R], options ...OpenOption) (*JobFeed[T, R], error) {
	f, err := c.open(ctx, name, KindJob, options)
	if err != nil {
		return nil, err
	}
	return &JobFeed[T, R]{f, orJSON(items), orJSON(results)}, nil
}

// Put puts a job at the end, or [AtFront], and returns its id, as [Queue.Put] does: [ErrTaken] also where the job of
// that id is claimed or stalled. An id has no colon.
func (j *JobFeed[T, R]) Put(ctx context.Context, value T, options ...PutOption) (string, error) {
	chosen, err := newPutting(options, checkJobID)
	if err != nil {
		return "", j.client.explained(j.Name(), err)
	}
	return put(ctx, j.feed, j.items, value, chosen)
}

// Held is a claim on a job: what the worker shows when it ends it. With an ID alone it stands for any claim on that
// job, for those who end the claims of others.
type Held struct {
	ID        string
	At        time.Time // when it was claimed, by Redis' clock
	Cancelled int       // how often the job was claimed before and cancelled
	mark      string    // the time as it is stored, which tells one claim from another
}

// Claim is a job that the caller has claimed.
type Claim[T any] struct {
	Held
	Item T
}

// Get claims the job at the front. Where nothing waits it waits up to the timeout, 0 for ever, [NoWait] not at all, and
// fails with [ErrEmpty]; or until ctx ends. A job that was claimed while ctx ended is returned. What Redis refuses for
// a while, as in a failover, is tried again for as long, and then the refusal is the error.
//
// When the connection is lost just then, its claim is looked for by another one. Where that cannot be done either, Get
// fails, and [JobFeed.Maintain] gives the job back in its time. A job that cannot be decoded is claimed: Get returns
// its Held and a [*DecodeError].
func (j *JobFeed[T, R]) Get(ctx context.Context, timeout time.Duration) (Claim[T], error) {
	var claimed thoonkdb.Claimed
	err := j.read(ctx, func(ctx context.Context) error {
		return j.client.await(ctx, timeout, j.turn, waiting{
			try: func(ctx context.Context) (found bool, err error) {
				claimed, err = j.claim(ctx)
				return claimed.Time != "", err
			},
			wait: j.db.WaitForItem,
		})
	})
	if err != nil {
		return Claim[T]{}, err
	}
	claim := Claim[T]{Held: held(claimed)}
	claim.Item, err = decoded(j.items, claimed.Item)
	if err != nil {
		return claim, &FeedError{Feed: j.Name(), ID: claimed.ID, Err: err}
	}
	return claim, nil
}

// claim claims a job, if one is there, and hears the answer also when ctx ends.
func (j *JobFeed[T, R]) claim(ctx context.Context) (claimed thoonkdb.Claimed, err error) {
	if err := context.Cause(ctx); err != nil {
		return claimed, err
	}
	longer, cancel := unhurried(ctx)
	defer cancel()
	token := fmt.Sprintf("%020d", rand.Uint64())
	err = j.change(longer, func(ctx context.Context, known string, _ Config) error {
		claimed, err = j.db.Claim(ctx, known, token)
		return err
	})
	if unanswered(err) {
		return j.recover(longer, token, err)
	}
	return claimed, err
}

// recover looks for a claim whose answer was lost. If it lands even later nobody holds it, and maintenance gives it
// back.
func (j *JobFeed[T, R]) recover(ctx context.Context, token string, cause error) (claimed thoonkdb.Claimed, err error) {
	for pause := pauseMin; pause <= pauseMax; pause *= 2 {
		err = j.read(ctx, func(ctx context.Context) error {
			claimed, err = j.db.FindClaim(ctx, token)
			return err
		})
		if err == nil && claimed.Time != "" || err != nil && !passing(err) {
			return claimed, err
		}
		if !sleep(ctx, pause) {
			return claimed, cause
		}
		if err == nil {
			return claimed, nil // it never arrived
		}
	}
	return claimed, cause
}

// Running returns the claims that there are, the latest first.
func (j *JobFeed[T, R]) Running(ctx context.Context) (claims []Held, err error) {
	err = j.read(ctx, func(ctx context.Context) error {
		running, err := j.db.Running(ctx)
		for _, claimed := range running {
			claims = append(claims, held(claimed))
		}
		return err
	})
	return claims, err
}

// Stalled returns the ids of stalled jobs, the one that was stalled first at the front.
func (j *JobFeed[T, R]) Stalled(ctx context.Context) (ids []string, err error) {
	err = j.read(ctx, func(ctx context.Context) error {
		ids, err = j.db.Stalled(ctx)
		return err
	})
	return ids, err
}

// AllIDs returns the ids of all jobs, whether they wait, are claimed or are stalled, in no order. IDs are those that
// wait.
func (j *JobFeed[T, R]) AllIDs(ctx context.Context) (ids []string, err error) {
	err = j.read(ctx, func(ctx context.Context) error {
		ids, err = j.db.AllIDs(ctx)
		return err
	})
	return ids, err
}

// Cancels tells how often a job was claimed and cancelled, or lost to [JobFeed.Maintain], or fails with [ErrNoItem]. A
// retried job begins anew; in the forms of the released programs a stalled one does already, since those forget the
// count when they stall.
func (j *JobFeed[T, R]) Cancels(ctx context.Context, id string) (times int, err error) {
	err = j.read(ctx, func(ctx context.Context) error {
		n, found, err := j.db.Cancels(ctx, id)
		if times = n; err == nil && !found {
			err = &FeedError{Feed: j.Name(), ID: id, Err: ErrNoItem}
		}
		return err
	})
	return times, err
}

// Item returns what a job is that waits, is claimed or is stalled, or fails with [ErrNoItem].
func (j *JobFeed[T, R]) Item(ctx context.Context, id string) (T, error) {
	return one(ctx, j.feed, j.items, id)
}

// Has tells whether a job of that id waits, is claimed or is stalled.
func (j *JobFeed[T, R]) Has(ctx context.Context, id string) (bool, error) { return j.has(ctx, id) }

func held(c thoonkdb.Claimed) Held {
	return Held{ID: c.ID, At: thoonkdb.ClaimTime(c.Time), Cancelled: c.Cancelled, mark: c.Time}
}
