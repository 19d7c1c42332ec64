package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
)

// prepareForLater checks and encodes an entry that somebody else brings into Redis, some time later: the relay of an
// outbox. So all of the job is in what it returns, its args as well, and a delay counts from now. What needs the caller
// after the job was stored is refused.
func prepareForLater(entry Entry) (rdb.NewJob, error) {
	settings := jobSettings{}.with(entry.Options)
	if settings.replicas > 0 {
		return rdb.NewJob{}, &InvalidError{What: "job " + excerpt.Brief(entry.Name), Value: "given WaitReplicas",
			Remedy: "leave it out: the job is stored in Redis after the enqueue has returned"}
	}
	if entry.In > 0 && entry.At.IsZero() {
		entry.At, entry.In = time.Now().Add(entry.In), 0
	}
	e := &Enqueuer{core: &enqueuerCore{clock: &redisclock.Clock{}, limits: jobargs.NewLimits(0, -1)}}
	job, err := e.prepare(&entry)
	switch {
	case err != nil:
		return rdb.NewJob{}, err
	case job.Conflict != nil && (job.Conflict.Refuse || job.Conflict.Change != nil):
		return rdb.NewJob{}, &InvalidError{What: "job " + excerpt.Brief(entry.Name),
			Value:  "unique with an OnConflict that changes another job or returns an error",
			Remedy: "use KeepExisting: whether another job lives is known after the enqueue has returned"}
	}
	return job.NewJob, nil
}

// accepts tells whether the name and the args of a job are such as an enqueue would take. The err says that this is not
// known, since Redis could not be asked.
func (c *enqueuerCore) accepts(ctx context.Context, name string, args []byte) (refusal, err error) {
	if err := validateName(name); err != nil {
		return err, nil
	}
	_, err = c.checkNames(ctx, name)
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return err, nil
	case err != nil:
		return nil, err
	case c.check == nil:
		return nil, nil
	}
	if err := c.check(name, args); err != nil {
		return fmt.Errorf("args of job %s do not fit its handler: %w", excerpt.Brief(name), err), nil
	}
	return nil, nil
}
