package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/redisconn"
)

// Options say how far a bridge goes.
type Options struct {
	DryRun bool
	Follow bool          // it goes on until the old side is empty and stays so for Idle
	Idle   time.Duration // with Follow
	Within time.Duration // without Follow: how long it waits for what runs on the old side
	Batch  int           // jobs in a batch; 0 is 200

	Between  func()                // is called between two steps: it may end the ctx
	Progress func(done, total int) // is told how far it is
	At       func(step string)     // of tests: it may be killed at each; nil is nothing
}

// Bridge brings jobs over. One goroutine uses it.
type Bridge struct {
	source  Source
	ledgers func(name string) ledger.Ledger
	target  *Target
	o       Options
	report  *Report
	refused map[string]bool // by place and name: they stay where they are
	broken  map[string]bool // of those: that were taken, and could not be stored
	tokens  map[string]string
	total   int // how many jobs there are, as far as is known
}

const (
	defaultBatch = 200
	// batchBytes is how large a batch may be, unless one job is larger.
	batchBytes = 1 << 20
	// lookEvery is how often it looks at an old side where nothing is to be had.
	lookEvery = 500 * time.Millisecond
	// patience is how long a Redis may be away.
	patience = 30 * time.Second
)

// New makes a bridge. The driver is that of the old side.
func New(source Source, driver redisconn.Driver, target *Target, o Options) *Bridge {
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.At == nil {
		o.At = func(string) {}
	}
	return &Bridge{source: source, target: target, o: o, report: newReport(source.Name(), o.DryRun),
		ledgers: func(name string) ledger.Ledger { return ledger.New(driver, name) },
		refused: map[string]bool{}, broken: map[string]bool{}, tokens: map[string]string{}}
}

// Run brings over what is there. The report says how far it came, also with an error.
func (b *Bridge) Run(ctx context.Context) (*Report, error) {
	err := b.run(ctx)
	if noted := b.conclude(ctx); err == nil {
		err = noted
	}
	return b.report, err
}

func (b *Bridge) run(ctx context.Context) error {
	if err := b.steady(ctx, b.target.Directory.Refresh); err != nil {
		return err
	}
	if b.o.DryRun {
		return b.rehearse(ctx)
	}
	var err error
	if b.total, err = b.waiting(ctx); err != nil {
		return err
	}
	last := time.Now() // when there was something
	for {
		moved, err := b.round(ctx)
		if err != nil {
			return err
		}
		waiting, err := b.waiting(ctx)
		if err != nil {
			return err
		}
		switch {
		case moved > 0:
			last = time.Now()
			continue
		case b.o.Follow && waiting > 0:
			last = time.Now() // running there; what cannot come over does not count
		case b.o.Follow && time.Since(last) > b.o.Idle, !b.o.Follow && (waiting == 0 || time.Since(last) > b.o.Within):
			return nil
		}
		if b.pause(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// pause waits before it looks again. The ctx may end by Between.
func (b *Bridge) pause(ctx context.Context) {
	for range 5 { // Ctrl-C is heard soon
		b.between()
		backoff.Pause(ctx, lookEvery/5)
	}
}

func (b *Bridge) between() {
	if b.o.Between != nil {
		b.o.Between()
	}
}

// waiting is how many jobs are on the old side that are to come over, and may.
func (b *Bridge) waiting(ctx context.Context) (n int, err error) {
	err = b.steady(ctx, func(ctx context.Context) error {
		n = 0
		shelves, err := b.source.Shelves(ctx)
		for _, shelf := range shelves {
			if err != nil || !b.source.Wanted(shelf) {
				continue
			}
			var count int
			count, err = b.source.Count(ctx, shelf)
			n += count
		}
		return err
	})
	return n - len(b.refused), err
}

// round brings over all that is there, once.
func (b *Bridge) round(ctx context.Context) (moved int, err error) {
	var ledgers []string
	var shelves []ledger.Shelf
	err = b.steady(ctx, func(ctx context.Context) (err error) {
		if ledgers, err = b.source.Ledgers(ctx); err == nil {
			shelves, err = b.source.Shelves(ctx)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, name := range ledgers { // what somebody has left first
		n, err := b.finish(ctx, name)
		if moved += n; err != nil {
			return moved, err
		}
	}
	b.refused, b.report.Refused, b.report.RefusedIDs = map[string]bool{}, 0, nil // they may have gone meanwhile
	for _, shelf := range shelves {
		if !b.source.Wanted(shelf) {
			continue
		}
		n, err := b.empty(ctx, shelf)
		if moved += n; err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// empty brings over all of a shelf.
func (b *Bridge) empty(ctx context.Context, shelf ledger.Shelf) (moved int, err error) {
	for skip := 0; ; {
		if b.between(); ctx.Err() != nil {
			return moved, context.Cause(ctx)
		}
		p, err := b.plan(ctx, shelf, skip)
		if err != nil {
			return moved, err
		}
		skip += p.refused
		if len(p.jobs) == 0 && p.refused > 0 {
			continue
		}
		if len(p.jobs) == 0 {
			return moved, nil // also where all are on their way to another partition
		}
		before := moved
		for partition, jobs := range p.jobs {
			n, err := b.take(ctx, shelf, Taking{Partition: partition, Jobs: jobs})
			if moved += n; err != nil {
				return moved, err
			}
		}
		if moved == before { // others have taken them
			return moved, nil
		}
	}
}

// take takes jobs and brings them over.
func (b *Bridge) take(ctx context.Context, shelf ledger.Shelf, t Taking) (int, error) {
	if b.report.Total+len(t.Jobs) > b.total { // more was enqueued meanwhile
		waiting, err := b.waiting(ctx)
		if err != nil {
			return 0, err
		}
		b.total = b.report.Total + waiting
	}
	b.o.At("planned")
	err := b.steady(ctx, func(ctx context.Context) error { return b.source.Take(ctx, shelf, t) })
	if err != nil {
		return 0, fmt.Errorf("jobs of %s cannot be taken: %w", shelf.Key, err)
	}
	b.o.At("taken")
	return b.finish(ctx, shelf.Ledger)
}

// plan is what of a shelf may come over next.
type plan struct {
	jobs    map[int][]ledger.Job // by partition
	refused int                  // how many of those that were read stay where they are
}

// plan reads a part of a shelf.
func (b *Bridge) plan(ctx context.Context, shelf ledger.Shelf, skip int) (p plan, err error) {
	var found []Found
	err = b.steady(ctx, func(ctx context.Context) (err error) {
		found, err = b.source.Peek(ctx, shelf, skip, b.o.Batch)
		return err
	})
	if err != nil {
		return p, err
	}
	p.jobs = map[int][]ledger.Job{}
	bytes := 0
	for i := range found {
		f := &found[i]
		job, err := b.prepare(f)
		if err != nil {
			b.refuse(f.Job, err)
			p.refused++
			continue
		}
		bytes += len(f.Job.Raw) + len(job.stored.Record)
		if bytes > batchBytes && len(p.jobs) > 0 {
			return p, nil
		}
		if partition, moving := b.target.home(&job); !moving {
			p.jobs[partition] = append(p.jobs[partition], f.Job)
		}
	}
	return p, nil
}

// prepare makes of what was found what can be stored here.
func (b *Bridge) prepare(f *Found) (Job, error) {
	if f.Err != nil {
		return Job{}, f.Err
	}
	if b.broken[refusal(f.Job)] {
		return Job{}, errors.New("its queue cannot be written: the key holds something that is no list")
	}
	return b.target.prepare(b.source, f.Job)
}

func refusal(job ledger.Job) string { return job.Key + "\x00" + job.Member }

func (b *Bridge) refuse(job ledger.Job, err error) {
	if key := refusal(job); !b.refused[key] {
		b.refused[key] = true
		b.report.refuse(job, err)
	}
}
