package work

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// blocker waits for tokens on a connection of its own. A token is only a hint: where none can be had, the worker looks
// at the ready queues about as often.
type blocker struct {
	store  *rdb.Store
	driver rdb.Driver
	events *stream
	health health
	queues []string
	conn   rdb.Conn
	lap    int // failures in a row
}

func newBlocker(w *worker) *blocker {
	names, _ := w.pool.roster.now()
	return &blocker{
		store: w.store, driver: w.driver, events: w.events, health: health{component: "blocker", events: w.events},
		queues: slices.Clone(names),
	}
}

// wait returns the name of a queue that called, but for some, or "" after about a second (or atMost, if that is less) or when
// ctx ended. It is false when it could not wait.
func (b *blocker) wait(ctx context.Context, atMost time.Duration, but map[string]bool) (name string, waited bool) {
	name, err := b.pop(ctx, atMost, but)
	if err == nil {
		b.lap = 0
		b.health.report(nil)
		return name, true
	}
	b.close()
	if ctx.Err() != nil {
		return "", false
	}
	b.lap++
	if !b.repair(ctx, err) {
		b.health.report(err)
	}
	return "", false
}

func (b *blocker) pop(ctx context.Context, atMost time.Duration, but map[string]bool) (string, error) {
	if b.conn != nil && b.conn.Broken() { // by a ctx that ended just when a token had come
		b.close()
	}
	if b.conn == nil {
		conn, err := b.driver.Dial(ctx)
		if err != nil {
			return "", err
		}
		b.conn = conn
	}
	// BLPOP serves the first key that has data: in a fixed order the last ones would starve.
	rand.Shuffle(len(b.queues), func(i, j int) { b.queues[i], b.queues[j] = b.queues[j], b.queues[i] })
	timeout := 800*time.Millisecond + rand.N(400*time.Millisecond)
	timeout = max(time.Millisecond, min(timeout, atMost)) // Redis waits for ever at 0
	queues := b.queues
	if len(but) > 0 {
		queues = slices.DeleteFunc(slices.Clone(queues), func(name string) bool { return but[name] })
	}
	if len(queues) == 0 {
		pause(ctx, timeout)
		return "", nil
	}
	return b.store.Wait(ctx, b.conn, queues, timeout)
}

// repair removes tokens that are no list, after Redis has refused to wait because of some: one of them would keep all
// queues of this worker from calling. Nothing is lost with it, since what waits is in the ready set.
func (b *blocker) repair(ctx context.Context, cause error) bool {
	var refused *rdb.ServerError
	if !errors.As(cause, &refused) || refused.Code != "WRONGTYPE" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	broken, err := b.store.DropBrokenTokens(ctx, b.queues)
	for _, key := range broken {
		b.events.emit(KeyBroken{Key: key})
	}
	return err == nil
}

// backoff is how long to wait after a failure instead of waiting for a token.
func (b *blocker) backoff() time.Duration { return backoffFor(b.lap) }

func (b *blocker) close() {
	if b.conn != nil {
		_ = b.conn.Close() // it is not used again
		b.conn = nil
	}
}
