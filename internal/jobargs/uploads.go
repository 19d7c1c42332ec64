package jobargs

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

// Contents is where an upload goes. *objects.Store is one.
type Contents interface {
	Put(ctx context.Context, content []byte) (objects.Hash, error)
}

// Uploads stores contents in time for the jobs that need them. Callers that bring the same content at the same time
// share one upload, and for a minute others need none. Its methods may be called concurrently.
//
// It is no singleflight.Group: who shares an upload there gets its error too. Here the upload has the ctx of the caller
// that makes it, so when that one leaves, or fails, the next makes another.
type Uploads struct {
	store Contents

	mu      sync.Mutex
	fresh   map[string]time.Time // by hash: when its upload began
	flights map[string]chan struct{}
}

// NewUploads makes one that has stored nothing yet.
func NewUploads(store Contents) *Uploads {
	return &Uploads{store: store, fresh: map[string]time.Time{}, flights: map[string]chan struct{}{}}
}

// Ensure returns when the object is there. It may be called again after an error.
func (u *Uploads) Ensure(ctx context.Context, hash string, content []byte) error {
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

func (u *Uploads) upload(ctx context.Context, hash string, content []byte) (err error) {
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

func (u *Uploads) remember(hash string, since time.Time) {
	u.fresh[hash] = since
	for other, then := range u.fresh {
		if len(u.fresh) > maxFresh && other != hash || time.Since(then) >= freshFor {
			delete(u.fresh, other)
		}
	}
}

// Forget is called when Redis says that the object is not there.
func (u *Uploads) Forget(hash string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.fresh, hash)
}

// ForgetAll is called when Redis has lost what it had acknowledged: any of them may not be there.
func (u *Uploads) ForgetAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.fresh)
}
