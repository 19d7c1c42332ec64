package work

import (
	"context"

	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// poolObjects is how a pool reads the objects that its jobs need, and stores results.
type poolObjects struct {
	store *objects.Store
	cache *objects.Cache
	large int // above how many bytes a result is one

	collector *objects.Collector // the janitor's
}

// newPoolObjects is called by open, which dials nothing, and neither does this: an error is one of the options. The
// cache is closed by the stop of the pool.
func newPoolObjects(store *rdb.Store, options WorkerOptions) (*poolObjects, error) {
	contents, err := objects.New(store, objects.Options{Home: options.ObjectHome, Grace: options.ObjectGrace})
	if err != nil {
		return nil, err
	}
	return &poolObjects{
		store: contents, cache: objects.NewCache(contents, options.ObjectCache),
		large:     jobargs.NewLimits(0, options.LargeArgs).Large,
		collector: contents.Collector(),
	}, nil
}

// keep stores a content for a job that has a record, or will have an outcome. The processor that ran the job waits for
// it, settleTimeout at the most, before it hands the outcome over. The content comes before the reference: if the
// process dies in between, the collector finds a content that no job refers to and drops it after the grace period.
func (o *poolObjects) keep(ctx context.Context, content []byte, id string) (hash objects.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = repeatable.UntilAnswered(ctx, func(ctx context.Context) error {
		if hash, err = o.store.Put(ctx, content); err != nil {
			return err
		}
		return o.store.Refer(ctx, hash, id)
	})
	return hash, err
}
