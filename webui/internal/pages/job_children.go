package pages

import (
	"errors"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// children are the jobs that a job has enqueued.
type children struct {
	Jobs    []child
	LeftOut int // before these
	Now     time.Time
}

type child struct {
	ID   string
	Job  *inspect.JobInfo // nil where nothing of it is kept
	When string           // what At is
	At   time.Time
}

// childrenOf reads what has become of them, newest first.
func childrenOf(v *visit.Visit, job *inspect.JobInfo) (children, error) {
	all := children{LeftOut: job.ChildrenLeftOut, Now: job.AsOf}
	if len(job.Children) == 0 {
		return all, nil
	}
	found, err := v.Inspector.Jobs(v.Ctx(), job.Children...)
	if err != nil {
		return all, err
	}
	for n := len(found) - 1; n >= 0; n-- {
		one := child{ID: job.Children[n], Job: found[n]}
		if one.Job != nil {
			one.When, one.At = momentOf(one.Job)
		}
		all.Jobs = append(all.Jobs, one)
	}
	return all, nil
}

// neighbours are those of its flow that a job waits for, and that wait for it; nil where it belongs to none, or that is
// not there any more.
func neighbours(v *visit.Visit, job *inspect.JobInfo) (*memberFact, error) {
	if job.Flow == "" || job.Member == "" || job.Member[0] == '@' {
		return nil, nil
	}
	fact, err := memberFactOf(v, job.Flow, job.Member)
	if errors.Is(err, work.ErrNotFound) {
		return nil, nil
	}
	return fact, err
}
