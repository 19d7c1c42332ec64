package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// RelayOptions are the options of a [Relay]. The zero value is good.
type RelayOptions struct {
	Batch int           // rows in one call, 1 to 500; 0 is 500
	Poll  time.Duration // between two looks at the table while nothing wakes the relay; 0 is 1 s
	// Lease is after what time another relay goes on with a call whose relay says nothing any more; 0 is 10 s, less
	// than 100 ms is refused. Nothing is lost or doubled where it is too short: both then send the same.
	Lease time.Duration
	// Keep is how long rows stay in the table when their jobs were stored, with state 2; 0 deletes them at once.
	Keep     time.Duration
	Listener Listener     // hears of commits; nil looks every Poll and after Wake. See pgxoutbox.Listener
	Observer func(Event)  // is called by one goroutine; nil is none
	Logger   *slog.Logger // nil is slog.Default()
}

// Listener hears of commits that other processes make.
type Listener interface {
	// Listen calls heard once it can hear, and then for each message of the channel. It returns when ctx ends or it can
	// hear no more, with the reason; it is then called again.
	Listen(ctx context.Context, channel string, heard func()) error
}

// Relay brings the jobs of an outbox into Redis. Make it with [Outbox.Relay].
type Relay struct {
	box     *Outbox
	db      *sql.DB
	enq     *work.Enqueuer
	store   *rdb.Store           // of the first partition
	parts   *partition.Directory // of all
	options RelayOptions
	owner   string

	running atomic.Bool
	heard   chan struct{}
	pruned  time.Time
	held    held
	at      func(step string) // of tests: a relay may be killed at each
}

// Relay makes a relay that stores jobs by enq: in its namespace, and only of names and with args that it accepts, so
// that of a pool, see [work.WorkerPool.Enqueuer], refuses what no worker knows. Middleware and options of enq do not
// count. It returns a *work.InvalidError for options that cannot be.
func (o *Outbox) Relay(db *sql.DB, enq *work.Enqueuer, options RelayOptions) (*Relay, error) {
	invalid := func(what, value, remedy string) error {
		return &work.InvalidError{What: "RelayOptions." + what, Value: value, Remedy: remedy}
	}
	switch {
	case db == nil || enq == nil:
		return nil, &work.InvalidError{What: "database or enqueuer of the relay", Value: "nil", Remedy: "give both"}
	case options.Batch < 0 || options.Batch > rdb.MaxBatch:
		return nil, invalid("Batch", fmt.Sprint(options.Batch), "use 1 to 500, or 0 for 500")
	case options.Poll < 0:
		return nil, invalid("Poll", options.Poll.String(), "use a duration above zero, or 0 for 1s")
	case options.Lease < 0 || options.Lease > 0 && options.Lease < 100*time.Millisecond:
		return nil, invalid("Lease", options.Lease.String(), "use 100ms or more, or 0 for 10s")
	case options.Keep < 0:
		return nil, invalid("Keep", options.Keep.String(), "use a duration above zero, or 0 for not at all")
	}
	options.Batch = cmp.Or(options.Batch, rdb.MaxBatch)
	options.Poll, options.Lease = cmp.Or(options.Poll, time.Second), cmp.Or(options.Lease, 10*time.Second)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	of := inside.Enqueuer(enq)
	return &Relay{box: o, db: db, enq: enq, store: of.Store, parts: of.Partitions, options: options,
		owner: ids.Random(16), heard: make(chan struct{}, 1), at: func(string) {}}, nil
}

// Run relays until ctx ends, and returns nil when the batch under way is done: within 5 s for each of its three steps,
// and usually at once. What fails is told and tried again. Of two calls at a time the second is an error. A
// relay in a pool's process should end before the pool does.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errors.New("this relay runs already: make another one")
	}
	defer r.running.Store(false)
	var listening sync.WaitGroup
	defer listening.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.options.Listener != nil {
		listening.Go(func() { r.listen(ctx) })
	}
	var failures backoff.Failures
	var since time.Time
	for ctx.Err() == nil {
		more, err := r.round(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			if since.IsZero() {
				since = time.Now()
				r.tell(Trouble{err})
			}
			failures.Pause(ctx)
			continue
		case err == nil && !since.IsZero():
			r.tell(TroubleOver{time.Since(since)})
			failures, since = 0, time.Time{}
		}
		if !more {
			r.rest(ctx)
		}
	}
	return nil
}

// held are rows that wait, by a map, for what they are bound by and what is on its way to another partition.
type held struct {
	version int64         // of the map
	some    bool          // there are any
	upTo    map[int]int64 // by lane: all up to this row are held, and those behind are read first
	asked   time.Time     // when it was asked whether they may go
}

// heldWait is how often it is asked whether what rows wait for has arrived.
const heldWait = 100 * time.Millisecond

// arrived tells whether there is a newer map than that by which rows are held. It asks: no call is sent that would be
// told.
func (r *Relay) arrived(ctx context.Context) bool {
	if !r.held.some {
		return false
	}
	if time.Since(r.held.asked) >= heldWait {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = r.parts.Refresh(asking) // it is asked again
		r.held.asked = time.Now()
	}
	return r.parts.Map().Version != r.held.version
}

// rest waits until there may be something to do.
func (r *Relay) rest(ctx context.Context) {
	timer := time.NewTimer(r.options.Poll)
	defer timer.Stop()
	var again <-chan time.Time
	if r.held.some {
		ticker := time.NewTicker(heldWait)
		defer ticker.Stop()
		again = ticker.C
	}
	for !r.arrived(ctx) {
		select {
		case <-again:
			continue
		case <-ctx.Done():
		case <-r.box.wake:
		case <-r.heard:
		case <-timer.C:
		}
		return
	}
}

// listen keeps the listener going. While it hears nothing the relay looks at the table by itself.
func (r *Relay) listen(ctx context.Context) {
	var failures backoff.Failures
	for ctx.Err() == nil {
		err := r.options.Listener.Listen(ctx, r.box.table, func() {
			failures = 0
			select {
			case r.heard <- struct{}{}:
			default: // one is enough
			}
		})
		if ctx.Err() != nil {
			return
		}
		r.options.Logger.Warn("the relay of the outbox does not hear of commits, and looks instead",
			slog.Any("error", err), slog.Duration("every", r.options.Poll))
		failures.Pause(ctx)
	}
}

// round relays a batch of each lane that has rows and is nobody else's. There may be more where one was full.
func (r *Relay) round(ctx context.Context) (more bool, err error) {
	if err := r.prune(ctx); err != nil {
		return false, err
	}
	busy, err := r.busyLanes(ctx)
	if err != nil {
		return false, err
	}
	if len(busy) == 0 {
		r.held = held{} // who deleted the rows took what it asks for with them
	}
	rand.Shuffle(len(busy), func(i, j int) { busy[i], busy[j] = busy[j], busy[i] })
	for _, lane := range busy {
		if ctx.Err() != nil {
			return false, nil
		}
		again, err := r.relayLane(lane)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// relayLane relays a batch of one lane. A batch that was begun is ended also where the relay is to stop, so that nobody
// has to wait for its lease: hence no ctx.
func (r *Relay) relayLane(lane int) (more bool, err error) {
	c, more, err := r.claim(lane)
	if err != nil || c == nil {
		return more, err
	}
	answer, err := r.send(c)
	if err != nil {
		return false, err
	}
	return more || len(answer.returned) > 0, r.finish(c, answer)
}

// stepTime is how long a step may take, a transaction or a call: then it is given up and tried again.
const stepTime = 5 * time.Second

// step is the ctx of one step.
func step(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, stepTime, fmt.Errorf("no answer within %s", stepTime))
}

// busyLanes are those with something to do.
func (r *Relay) busyLanes(ctx context.Context) (busy []int, err error) {
	ctx, cancel := step(ctx)
	defer cancel()
	rows, err := r.db.QueryContext(ctx, r.box.sql(`SELECT lane FROM $_lanes l
		WHERE (owner = ? OR leased < ?)
		AND (open_rows <> '' OR EXISTS (SELECT 1 FROM $ r WHERE r.state = 0 AND r.lane = l.lane))`),
		r.owner, time.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("table %s_lanes cannot be read (was it migrated?): %w", r.box.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var lane int
		if err := rows.Scan(&lane); err != nil {
			return nil, err
		}
		busy = append(busy, lane)
	}
	return busy, rows.Err()
}

// pruneEvery is how often rows are looked for that were kept long enough.
const pruneEvery = 10 * time.Second

// prune deletes rows that were kept long enough, some at a time.
func (r *Relay) prune(ctx context.Context) error {
	if time.Since(r.pruned) < min(pruneEvery, max(r.options.Keep, r.options.Poll)) {
		return nil
	}
	ctx, cancel := step(ctx)
	defer cancel()
	old, err := r.box.numbers(ctx, r.db, "SELECT id FROM $ WHERE state = 2 AND since < ? LIMIT 1000",
		time.Now().Add(-r.options.Keep).UnixMilli())
	if err != nil {
		return fmt.Errorf("table %s cannot be read (was it migrated?): %w", r.box.table, err)
	}
	if len(old) > 0 {
		if _, err := r.db.ExecContext(ctx, r.box.sql("DELETE FROM $ WHERE id IN "+list(old))); err != nil {
			return fmt.Errorf("rows of table %s that were kept cannot be deleted: %w", r.box.table, err)
		}
	}
	if len(old) < 1000 {
		r.pruned = time.Now()
	}
	return nil
}
