package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/workgroup"
)

// partsInterval is how often a pool whose workers have labels looks for jobs that need some and stand in a queue of
// which it does not know. It is for messages that were lost: nearly always one has told of it.
const partsInterval = 30 * time.Second

// partsWatch has a pool know in which queues jobs wait that need labels. Such a queue is new when the first job of its
// name needs just these; whoever stores that job tells all who listen. From then on the workers serve it as any other.
// The pool looks when it begins to listen, and, if it has labels, now and then.
type partsWatch struct {
	worker *worker
	missed workgroup.Wakeup // messages may have been missed
}

func (p *partsWatch) run(ctx context.Context) {
	health := healthreport.Reporter{Component: "watch for jobs that need labels", Emit: p.worker.events.emit}
	var interval <-chan time.Time // never
	if p.worker.engine.looksForParts() {
		ticker := time.NewTicker(partsInterval)
		defer ticker.Stop()
		interval = ticker.C
	}
	var failures backoff.Failures
	for {
		look := p.worker.store.ReadyParts
		select {
		case <-ctx.Done():
			return
		case <-p.missed:
			look = p.worker.store.Parts
		case <-interval:
		}
		err := p.learn(ctx, look)
		if ctx.Err() != nil {
			return
		}
		if health.Report(err); err == nil {
			failures = 0
			continue
		}
		failures.Pause(ctx)
		p.missed.Wake()
	}
}

// learn looks, and has the pool follow what was found.
func (p *partsWatch) learn(ctx context.Context, look func(context.Context) ([]string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	queues, err := look(ctx)
	if err == nil && len(queues) > 0 {
		p.worker.host.learnParts(queues)
	}
	return err
}

// told learns from a message on the control channel, if it is about that.
func (p *partsWatch) told(message []byte) bool {
	queue, is := rdb.NewPart(message)
	if is {
		p.worker.host.learnParts([]string{queue})
	}
	return is
}
