package joblog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/workgroup"
)

const (
	followInterval = time.Second // for a job that says nothing
	lastWords      = time.Second // what was published may be on its way for so long
	maxLive        = 256         // messages that were published and not shown yet
)

// ErrNoJob says that there is neither a job nor a log of that id.
var ErrNoJob = errors.New("there is no such job")

// Follow shows the log of a job, from the oldest line that is kept, and goes on with what is written, until the job has
// ended, ctx ends, or show returns false. Each line comes once and in order, in the calling goroutine. It has a
// connection of its own.
func Follow(ctx context.Context, store *rdb.Store, id string, show func(number int64, line Line) bool) error {
	f := &follower{store: store, id: id, show: show, look: workgroup.NewWakeup(),
		live: make(chan []rdb.LogEntry, maxLive)}
	listening, cancel := context.WithCancel(ctx)
	var listener sync.WaitGroup
	listener.Go(func() { f.listen(listening) })
	defer listener.Wait()
	defer cancel()
	err := f.follow(ctx)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// follower is one Follow under way.
type follower struct {
	store *rdb.Store
	id    string
	show  func(int64, Line) bool
	shown int64 // the number of the last line
	look  workgroup.Wakeup
	live  chan []rdb.LogEntry
}

// errEnough: show does not want more.
var errEnough = errors.New("no more lines are wanted")

// listen passes on what is published, and asks for a reading when something may have been missed.
func (f *follower) listen(ctx context.Context) {
	var failures backoff.Failures
	for {
		ready := func() { failures = 0; f.look.Wake() }
		_ = f.store.FollowLog(ctx, f.id, ready, func(entries []rdb.LogEntry) {
			select {
			case f.live <- entries:
			default:
				f.look.Wake()
			}
		}) // why it ended is no matter: reading finds the same lines, or tells what is wrong
		if !failures.Pause(ctx) {
			return
		}
	}
}

func (f *follower) follow(ctx context.Context) error {
	known, err := f.showAll(ctx)
	if err == nil && !known && f.shown == 0 {
		err = ErrNoJob
	}
	ticks := time.NewTicker(followInterval)
	defer ticks.Stop()
	for known && err == nil {
		select {
		case <-ctx.Done():
			return nil
		case entries := <-f.live:
			err = f.showLive(ctx, entries)
		case <-f.look:
			known, err = f.showAll(ctx)
		case <-ticks.C:
			known, err = f.showAll(ctx)
		}
	}
	if err == nil {
		err = f.showLast(ctx)
	}
	return err
}

// showAll shows what the log has more, and tells whether the job is still there.
func (f *follower) showAll(ctx context.Context) (known bool, err error) {
	for lines := rdb.MaxLogBatch; ; lines = rdb.MaxLogLines {
		entries, known, err := f.store.LogTail(ctx, f.id, lines)
		if err != nil {
			return known, err
		}
		if len(entries) < lines-1 || lines == rdb.MaxLogLines || entries[0].Number <= f.shown+1 {
			return known, f.showEach(entries)
		}
	}
}

// showLive shows what was published, after what was missed before it.
func (f *follower) showLive(ctx context.Context, entries []rdb.LogEntry) error {
	if entries[0].Number > f.shown+1 {
		if _, err := f.showAll(ctx); err != nil {
			return err
		}
	}
	return f.showEach(entries)
}

// showLast shows what was published before the job ended: the log is gone with it.
func (f *follower) showLast(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case entries := <-f.live:
			if err := f.showEach(entries); err != nil {
				return err
			}
		case <-time.After(lastWords):
			return nil
		}
	}
}

func (f *follower) showEach(entries []rdb.LogEntry) error {
	for _, entry := range entries {
		if entry.Number <= f.shown {
			continue
		}
		f.shown = entry.Number
		if !f.show(entry.Number, Decode(entry.Line)) {
			return errEnough
		}
	}
	return nil
}
