package worqr

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// Start registers a worker, keeps it alive, and looks for dead ones now and then, until Close. What is left of a dead
// worker of the same id is put back first. A ctx that ends later changes nothing.
func (c *Client) Start(ctx context.Context) error {
	if err := c.enter(dialled, starting); err != nil {
		return err
	}
	w, err := c.register(ctx, c.candidate())
	if err != nil {
		return errors.Join(err, c.enter(starting, dialled))
	}
	c.mu.Lock()
	c.worker, c.next = w, worqrdb.Worker{}
	c.mu.Unlock()
	if err := c.enter(starting, started); err != nil { // closed meanwhile
		_, left := c.failWorker(context.WithoutCancel(ctx), w.ID, true)
		return errors.Join(err, left)
	}
	c.beating.Start(context.Background())
	c.cleans.Start(context.Background())
	if c.options.Debug {
		c.debugs.Start(context.Background())
	}
	return nil
}

// enter goes from one phase to another, or says why not.
func (c *Client) enter(from, to phase) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == from:
		c.phase = to
		return nil
	case c.phase == closed:
		return ErrClosed
	}
	return ErrStarted
}

// candidate is a new registration of the client's id, the same one until it has come to something: an attempt that was
// not answered may have made it known, and then another one would find the id taken.
func (c *Client) candidate() worqrdb.Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next.ID != "" {
		return c.next
	}
	id := cmp.Or(c.worker.ID, c.options.WorkerID)
	if id == "" {
		id = ids.UUID()
	}
	c.next = worqrdb.Worker{ID: id, Registration: ids.UUID(), Life: c.options.HeartbeatLife}
	if c.options.Permanent {
		c.next.Life = 0
	}
	return c.next
}

// register makes a registration known.
func (c *Client) register(ctx context.Context, w worqrdb.Worker) (worqrdb.Worker, error) {
	for {
		var said string
		var sent time.Time
		_, err := c.untilAnswered(ctx, func(ctx context.Context) (err error) {
			sent = time.Now()
			said, err = c.store.Register(ctx, w)
			return err
		})
		switch {
		case err != nil:
			return w, err
		case said == worqrdb.Registered:
			c.mu.Lock()
			c.standsFrom = sent
			c.mu.Unlock()
			return w, nil
		case said != worqrdb.Dead:
			return w, &WorkerError{ID: w.ID, Err: ErrWorkerTaken}
		}
		if _, err := c.failWorker(ctx, w.ID, false); err != nil && !errors.Is(err, ErrWorkerUnknown) &&
			!errors.Is(err, errAlive) {
			return w, err
		}
	}
}

// present is the worker as it is registered now.
func (c *Client) present() (worqrdb.Worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.phase {
	case started:
		return c.worker, nil
	case closed:
		return c.worker, ErrClosed
	}
	return c.worker, ErrNotStarted
}

// registered is the worker, also while Close waits for handlers: until those have returned it has to stay alive.
func (c *Client) registered() worqrdb.Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worker
}

// stands is since when the timer has stood, at least, that the last registration has set.
func (c *Client) stands() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standsFrom
}

// restart is what a lapsed worker does: its tasks go back, it registers anew, and serves the queues that it served. It
// is called by the heartbeat, until it succeeds.
func (c *Client) restart(ctx context.Context) error {
	former, err := c.present()
	if err != nil {
		return err
	}
	_, err = c.failWorker(ctx, former.ID, false)
	alive := errors.Is(err, errAlive)
	if err != nil && !alive && !errors.Is(err, ErrWorkerUnknown) {
		return err
	}
	w, err := c.register(ctx, c.candidate())
	if err != nil {
		return err
	}
	if !alive || former.Registration != w.Registration { // else an attempt before came so far
		c.replace(w)
	}
	c.mu.Lock()
	queues := slices.Collect(maps.Values(c.serving))
	c.mu.Unlock()
	for _, s := range queues {
		if err := c.announce(ctx, w, s); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.next = worqrdb.Worker{}
	c.mu.Unlock()
	c.told.tell(Restarted{Worker: w.ID})
	return nil
}

// replace lets everything that concerned the registration before go.
func (c *Client) replace(w worqrdb.Worker) {
	c.mu.Lock()
	c.worker = w
	c.doubtful = nil
	late := c.held // answers that came after the lapse was noticed
	c.held = map[string]*Process{}
	c.mu.Unlock()
	for _, p := range late {
		p.end(ErrLapsed)
	}
}
