package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// ceiling replays the scripts that processing needs, without a pool and without handlers: one loop fetches batches as a
// pool of that concurrency with nothing but free processors would, another completes each batch in one call. What a
// pool reaches of this is what its own work costs; the rest belongs to Redis, its scripts and the connection.
func ceiling(concurrency int) Scenario {
	return Scenario{
		Name: fmt.Sprintf("ceiling, batches of %d, 10 queues", concurrency), Jobs: [3]int{200, 300_000, 1_000_000},
		Fitted: true,
		For:    func(lib peer.Library) bool { _, has := lib.(replayable); return has },
		Run:    func(ctx context.Context, r *Run) ([]Metric, error) { return r.replay(ctx, concurrency) },
	}
}

// replayable is a library whose scripts can be called without it: this one.
type replayable interface {
	Replay(place peer.Place) (driver redisconn.Driver, end func() error, err error)
}

func (r *Run) replay(ctx context.Context, batch int) (metrics []Metric, err error) {
	names := names(10)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if err := r.fill(ctx, session, names, r.Jobs, ""); err != nil {
		return nil, err
	}
	driver, end, err := r.Library.(replayable).Replay(r.Stage.place(""))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	worker := rdb.NewStore(driver, peer.WorkNamespace).Worker(strings.Repeat("c", rdb.MinWorkerID))
	if _, _, err := worker.Register(ctx, rdb.Registration{Life: time.Hour, Epoch: "bench", Queues: names}); err != nil {
		return nil, err
	}
	tidy()
	before, err := r.usage()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	p := &replayer{worker: worker, names: names, batch: batch, total: r.Jobs, seen: make(map[string]bool, r.Jobs)}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	if err := r.settle(ctx, session); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	costs, err := r.cost(before, r.Jobs)
	if err == nil && len(p.seen) != r.Jobs {
		err = fmt.Errorf("%d different jobs were claimed, %d were stored", len(p.seen), r.Jobs)
	}
	return append([]Metric{{Name: "jobs", Unit: "/s", Value: perSecond(r.Jobs, took)}}, costs...), err
}

// replayer fetches and completes, each one call after the other, both at the same time.
type replayer struct {
	worker *rdb.Worker
	names  []string
	batch  int
	total  int

	turn int // the queue whose turn it is
	seen map[string]bool
}

func (p *replayer) run(ctx context.Context) error {
	fetched, ended := make(chan []rdb.Ended, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ended <- p.complete(ctx, fetched) }()
	err := p.fetch(ctx, fetched)
	close(fetched)
	return errors.Join(err, <-ended)
}

func (p *replayer) fetch(ctx context.Context, to chan<- []rdb.Ended) error {
	for number := int64(1); len(p.seen) < p.total; number++ {
		fetched, err := p.worker.Fetch(ctx, number, p.batch, number%8 == 0, p.shares())
		if err != nil {
			return err
		}
		if fetched.State != rdb.Registered || len(fetched.Jobs) == 0 {
			return fmt.Errorf("fetch %d was answered %q with %d jobs, %d of %d were fetched", number, fetched.State,
				len(fetched.Jobs), len(p.seen), p.total)
		}
		lot := make([]rdb.Ended, len(fetched.Jobs))
		for i, job := range fetched.Jobs {
			p.seen[job.ID] = true
			lot[i] = rdb.Ended{Claim: job.Claim, ID: job.ID}
		}
		select {
		case to <- lot:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// shares split a batch as the pool's sampler does: eight lots or more, the queues in turn, and the rest to fill up
// from.
func (p *replayer) shares() []rdb.Share {
	shares := make([]rdb.Share, len(p.names))
	for i := range shares {
		shares[i].Queue = p.names[(p.turn+i)%len(p.names)]
	}
	lot := max(1, p.batch/8)
	for left, i := p.batch, 0; left > 0; i++ {
		n := min(lot, left)
		shares[i%len(shares)].Jobs += n
		left -= n
		p.turn++
	}
	return shares
}

// complete drains the batches also after an error, so that the other loop does not hang on it.
func (p *replayer) complete(ctx context.Context, from <-chan []rdb.Ended) (err error) {
	for lot := range from {
		if err != nil {
			continue
		}
		var settled []rdb.Settled
		settled, err = p.worker.Settle(ctx, []redisconn.Call{p.worker.Complete(lot)})
		if err == nil && settled[0].Err != nil {
			err = settled[0].Err
		}
		if err == nil && len(settled[0].Gone) > 0 {
			err = fmt.Errorf("%d claims of a batch were gone", len(settled[0].Gone))
		}
	}
	return err
}
