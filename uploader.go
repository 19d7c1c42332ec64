package work

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/objects"
)

const (
	// freshFor is how long an enqueuer takes it that an object is there which it has stored or found. Whether it is
	// right the script that stores a job decides: then the object is stored again.
	freshFor = time.Minute
	// maxFresh is how many objects an enqueuer remembers.
	maxFresh = 1024
)

// uploader stores contents in time for the jobs that need them. Callers that bring the same content at the same time
// share one upload, and for a minute others need none.
type uploader struct {
	store *objects.Store

	mu      sync.Mutex
	fresh   map[string]time.Time // by hash: when its upload began
	flights map[string]chan struct{}
}

func newUploader(store *objects.Store) *uploader {
	return &uploader{store: store, fresh: map[string]time.Time{}, flights: map[string]chan struct{}{}}
}

// ensure returns when the object is there. It may be called again after an error.
func (u *uploader) ensure(ctx context.Context, hash string, content []byte) error {
	for {
		u.mu.Lock()
		if since, ok := u.fresh[hash]; ok && time.Since(since) < freshFor {
			u.mu.Unlock()
			return nil
		}
		flight := u.flights[hash]
		if flight == nil {
			flight = make(chan struct{})
			u.flights[hash] = flight
			u.mu.Unlock()
			return u.upload(ctx, hash, content)
		}
		u.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
			return excerpt.Error(context.Cause(ctx))
		}
	}
}

func (u *uploader) upload(ctx context.Context, hash string, content []byte) (err error) {
	began, stored := time.Now(), false
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		close(u.flights[hash])
		delete(u.flights, hash)
		if stored {
			u.remember(hash, began)
		}
	}()
	_, err = u.store.Put(ctx, content)
	stored = err == nil
	return err
}

func (u *uploader) remember(hash string, since time.Time) {
	u.fresh[hash] = since
	for other, then := range u.fresh {
		if len(u.fresh) > maxFresh && other != hash || time.Since(then) >= freshFor {
			delete(u.fresh, other)
		}
	}
}

// forget is called when Redis says that the object is not there.
func (u *uploader) forget(hash string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.fresh, hash)
}
