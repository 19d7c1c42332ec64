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

// finish sends and closes the batch of a ledger, if there is one, and says how many jobs came over by that.
func (b *Bridge) finish(ctx context.Context, name string) (moved int, err error) {
	for {
		batch, err := b.open(ctx, name)
		if err != nil || batch == nil {
			return moved, err
		}
		jobs, err := b.again(batch)
		if err != nil {
			return moved, err
		}
		var s sent
		err = b.steady(ctx, func(ctx context.Context) (err error) {
			if s, err = b.target.send(ctx, b.tokens[name], batch, jobs); err != nil || s.moved || s.late {
				return err
			}
			b.o.At("sent")
			return b.target.stall(ctx, jobs)
		})
		if err != nil {
			return moved, err
		}
		if s.late {
			if err := b.overtaken(ctx, name, batch); err != nil {
				return moved, err
			}
			continue
		}
		if s.moved {
			s.back = all(len(jobs))
		}
		b.o.At("stalled")
		mine, tried := false, false
		err = b.steady(ctx, func(ctx context.Context) (err error) {
			mine, err = b.source.Close(ctx, name, batch, s.back)
			mine, tried = mine || tried, true // the reply to the first may have been lost
			return err
		})
		if err != nil {
			return moved, fmt.Errorf("a batch that was stored cannot be removed on the old side: %w", err)
		}
		b.o.At("closed")
		return moved + b.count(batch, jobs, &s, mine), nil
	}
}

// open reads the batch that is under way, and the token of its lane.
func (b *Bridge) open(ctx context.Context, name string) (batch *ledger.Batch, err error) {
	l := b.ledgers(name)
	err = b.steady(ctx, func(ctx context.Context) (err error) {
		if batch, err = l.Open(ctx); err != nil || batch == nil || b.tokens[name] != "" {
			return err
		}
		b.tokens[name], err = l.Token(ctx)
		return err
	})
	return batch, err
}

// again prepares the jobs of a batch once more.
func (b *Bridge) again(batch *ledger.Batch) ([]Job, error) {
	jobs := make([]Job, len(batch.Jobs))
	for i := range batch.Jobs {
		job, err := b.target.prepare(b.source, batch.Jobs[i])
		if err != nil { // another version of this program took it
			return nil, fmt.Errorf("job %s was taken out of %s, and cannot be stored: %w", batch.Jobs[i].Member,
				batch.Jobs[i].Key, err)
		}
		jobs[i] = job
	}
	return jobs, nil
}

// overtaken looks why a lane is at a later batch: somebody else has finished this one, or the old side was restored.
func (b *Bridge) overtaken(ctx context.Context, name string, sent *ledger.Batch) error {
	now, err := b.open(ctx, name)
	if err == nil && now != nil && now.Number == sent.Number {
		return fmt.Errorf("batch %d of %s is older than what this side knows (was the old side restored from a "+
			"backup?): its jobs may have been stored; look whether they have run, and remove %s", sent.Number, name,
			b.ledgers(name).Batch())
	}
	return err
}

func all(n int) []int {
	indices := make([]int, n)
	for i := range indices {
		indices[i] = i
	}
	return indices
}

// count says how many came over.
func (b *Bridge) count(batch *ledger.Batch, jobs []Job, s *sent, mine bool) (moved int) {
	back := map[int]bool{}
	for _, i := range s.back {
		back[i] = true
	}
	for i := range jobs {
		switch why, twin := s.twins[i]; {
		case back[i]:
			if !s.moved {
				b.broken[refusal(batch.Jobs[i])] = true
			}
			continue
		case !mine: // somebody else has counted it
		case twin:
			b.report.twin(batch.Jobs[i], why)
			fallthrough
		default:
			b.report.came(batch.Jobs[i].Kind, &jobs[i])
		}
		moved++
	}
	b.progress()
	return moved
}

// steady does a step that may be repeated, also where it may have been done, until Redis has answered.
func (b *Bridge) steady(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("no answer within "+patience.String()))
	defer cancel()
	var failures backoff.Failures
	for {
		err := step(ctx)
		if err == nil || !redisconn.Classify(err).Again || !failures.Pause(ctx) {
			return err
		}
	}
}

// progress tells how far it is.
func (b *Bridge) progress() {
	if b.o.Progress != nil {
		b.total = max(b.total, b.report.Total)
		b.o.Progress(b.report.Total, b.total)
	}
}

// rehearse reads all that would come over.
func (b *Bridge) rehearse(ctx context.Context) error {
	shelves, err := b.source.Shelves(ctx)
	if err != nil {
		return err
	}
	for _, shelf := range shelves {
		if !b.source.Wanted(shelf) {
			continue
		}
		if err := b.rehearseShelf(ctx, shelf); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bridge) rehearseShelf(ctx context.Context, shelf ledger.Shelf) error {
	for skip := 0; ; {
		if b.between(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found, err := b.source.Peek(ctx, shelf, skip, b.o.Batch)
		if err != nil || len(found) == 0 {
			return err
		}
		skip += len(found)
		for i := range found {
			if job, err := b.prepare(&found[i]); err != nil {
				b.refuse(found[i].Job, err)
			} else {
				b.report.came(shelf.Kind, &job)
			}
		}
		b.progress()
	}
}

// conclude notes what is left, and what else is to be said.
func (b *Bridge) conclude(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	shelves, err := b.source.Shelves(ctx)
	if err != nil {
		return err
	}
	for _, shelf := range shelves {
		n, err := b.source.Count(ctx, shelf)
		if err != nil {
			return err
		}
		if n > 0 && (!b.o.DryRun || shelf.Kind == ledger.Running || !b.source.Wanted(shelf)) {
			b.report.Left[shelf.Kind] += n
		}
		if n > 0 && !b.source.Wanted(shelf) {
			b.report.Notes = append(b.report.Notes,
				fmt.Sprintf("tasks that wait in group %s of queue %s: %d; groups have no equivalent, --groups brings "+
					"them over as single jobs", shelf.Owner, shelf.Queue, n))
		}
	}
	notes, err := b.source.Notes(ctx)
	b.report.Notes = append(b.report.Notes, notes...)
	b.report.Complete = err == nil && b.report.left() == 0
	if err != nil {
		return err
	}
	unserved, err := b.target.unserved(ctx, b.report.names)
	if unserved != "" {
		b.report.Notes = append(b.report.Notes, unserved)
	}
	return err
}
