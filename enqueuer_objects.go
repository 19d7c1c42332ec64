package work

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// resends is how often jobs are sent again whose objects vanished between the upload and the script that stores them.
const resends = 3

// useObjects says where the large arguments of an Enqueuer go. A mistake is told by each of its enqueues.
func (e *Enqueuer) useObjects(home objects.Home, large int) {
	store, err := objects.New(e.core.store, objects.Options{Home: home})
	if err != nil && e.settings.err == nil {
		e.settings.err = err
	}
	e.core.limits.large = newArgsLimits(0, large).large
	e.core.uploads = newUploader(store)
}

// deliverOne is deliver for one job.
func (c *enqueuerCore) deliverOne(ctx context.Context, p *prepared) answer {
	jobs := []rdb.NewJob{p.job}
	if p.apart == nil {
		return c.lanes.send(ctx, jobs, p.bytes())
	}
	return c.deliver(ctx, []prepared{*p}, jobs, p.bytes())
}

// deliver stores jobs by one call, and what they need of objects before it. Jobs whose object vanished in between are
// sent again, behind the others.
func (c *enqueuerCore) deliver(ctx context.Context, all []prepared, jobs []rdb.NewJob, bytes int) answer {
	if err := c.upload(ctx, all); err != nil {
		return answer{fate: notStored, err: err}
	}
	whole := c.lanes.send(ctx, jobs, bytes)
	last, sent := whole, make([]int, len(all))
	for i := range sent {
		sent[i] = i
	}
	for range resends {
		if sent = c.bereft(last, all, sent); len(sent) == 0 {
			break
		}
		last = c.deliverAgain(ctx, all, sent)
		if whole.later == nil {
			whole.later = map[int]answer{}
		}
		for k, i := range sent {
			own := last
			own.problems, own.missing, own.owners = part(last.problems, k, 1), part(last.missing, k, 1),
				part(last.owners, k, 1)
			whole.later[i] = own
		}
	}
	return whole
}

// bereft returns which of the jobs that were answered were not stored because an object has vanished that can be stored
// again, and forgets that it was there. sent says which job each was.
func (c *enqueuerCore) bereft(a answer, all []prepared, sent []int) []int {
	var again []int
	for k, i := range sent {
		if a.fate != stored || a.problems[k] != rdb.NoObject {
			continue
		}
		if all[i].apart.contents[a.missing[k]] != nil {
			c.uploads.forget(a.missing[k])
			again = append(again, i)
		}
	}
	return again
}

func (c *enqueuerCore) deliverAgain(ctx context.Context, all []prepared, which []int) answer {
	some, jobs, bytes := make([]prepared, len(which)), make([]rdb.NewJob, len(which)), 0
	for k, i := range which {
		some[k], jobs[k] = all[i], all[i].job
		bytes += all[i].bytes()
	}
	if err := c.upload(ctx, some); err != nil {
		return answer{fate: notStored, err: err}
	}
	return c.lanes.send(ctx, jobs, bytes)
}

// upload stores what the jobs bring along, unless it is there.
func (c *enqueuerCore) upload(ctx context.Context, all []prepared) error {
	for i := range all {
		if all[i].apart == nil {
			continue
		}
		for hash, content := range all[i].apart.contents {
			ensure := func(ctx context.Context) error { return c.uploads.ensure(ctx, hash, content) }
			if err := c.lanes.insist(ctx, len(content), ensure); err != nil {
				return fmt.Errorf("an argument of job %s with %d bytes cannot be stored as object %s: %w",
					quoted(all[i].job.Queue), len(content), hash, err)
			}
		}
	}
	return nil
}

// insist takes a step that moves so many bytes and may be repeated, until it is done, ctx ends or its time is over:
// EnqueueTimeout and a second for each MB. The caller has entered.
func (l *lanes) insist(ctx context.Context, bytes int, step func(ctx context.Context) error) error {
	if ctx.Err() != nil {
		return excerpt.Error(context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout+time.Duration(bytes)*time.Microsecond, l.timedOut())
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	err := insist(ctx, step)
	if err != nil && l.life.Err() != nil {
		return blame(ErrClosed, err)
	}
	return err
}

// insist repeats a step until it is done, ctx ends, or another attempt would not go better.
func insist(ctx context.Context, step func(ctx context.Context) error) error {
	var trouble error
	for attempt := 1; ; attempt++ {
		err := unpanicked(ctx, step)
		if err == nil || isFinal(err) {
			return err
		}
		v := judge(err)
		if trouble == nil || ctx.Err() == nil {
			trouble = v.err
		}
		if !v.again {
			return v.err
		}
		if !backoff.Pause(ctx, backoff.For(attempt)) {
			return blame(context.Cause(ctx), trouble)
		}
	}
}

// unpanicked turns a panic of a step into an error: a home of objects may be the program's.
func unpanicked(ctx context.Context, step func(ctx context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return tame(step(ctx))
}

// isFinal tells whether an object is not there, or not what it should be, or its home panics, so that asking again is
// of no use.
func isFinal(err error) bool {
	var vanished *objects.VanishedError
	var mismatch *objects.MismatchError
	var noHash *objects.HashError
	return errchain.Find[*PanicError](err) != nil || errors.As(err, &vanished) || errors.As(err, &mismatch) ||
		errors.As(err, &noHash)
}

// share lets jobs that bring the same contents along hold each once: known are those of the jobs before.
func (o *objectArgs) share(known map[string][]byte) {
	for hash, content := range o.contents {
		if first := known[hash]; first != nil {
			o.contents[hash] = first
		} else {
			known[hash] = content
		}
	}
}
