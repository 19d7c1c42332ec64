package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// errQueueKey is the problem of a job whose queue cannot take any.
var errQueueKey = errors.New("the key of its queue holds something that is no list: rename or remove that key")

// outcome reads what was answered for the i-th job of a parcel.
func (p *prepared) outcome(a answer, i int) (Receipt, fate, error) {
	if later, ok := a.later[i]; ok {
		return p.outcome(later, 0)
	}
	if a.fate != stored {
		return Receipt{}, a.fate, a.err
	}
	switch problem := a.problems[i]; problem {
	case "":
		return p.receipt(a.at), stored, p.unconfirmed(a)
	case rdb.Duplicate:
		return Receipt{ID: p.job.ID, Name: p.job.Queue, Duplicate: true}, stored, nil
	case rdb.Unique:
		if p.unique.onConflict == RefuseDuplicate {
			return Receipt{}, notStored, &DuplicateError{Name: p.job.Queue, ID: a.owners[i]}
		}
		return p.duplicate(a.owners[i]), stored, nil
	case rdb.BadKey:
		return Receipt{}, notStored, fmt.Errorf("queue %s: %w", quoted(p.job.Queue), errQueueKey)
	case rdb.NoObject:
		return Receipt{}, notStored, &objects.VanishedError{Hash: objects.Hash(a.missing[i])}
	default:
		return Receipt{}, notStored, fmt.Errorf("redis refused it with %s", excerpt.Quoted(fmt.Sprint(problem)))
	}
}

// manyJobs gathers what became of the entries of an EnqueueMany.
type manyJobs struct {
	core     *enqueuerCore
	receipts []Receipt
	failed   EnqueueError
}

// refused is the answer when nothing was sent.
func (m *manyJobs) refused(err error) ([]Receipt, error) {
	m.failed.Err = err
	m.stop(0)
	return m.done()
}

// add notes the answer for the entries from there on.
func (m *manyJobs) add(ctx context.Context, from int, jobs []prepared, a answer) {
	for i := range jobs {
		receipt, fate, err := m.core.settle(ctx, &jobs[i], a, i)
		m.receipts[from+i] = receipt
		switch fate {
		case stored:
			m.failed.Stored = append(m.failed.Stored, from+i)
		case notStored:
			m.failed.NotStored = append(m.failed.NotStored, from+i)
		default:
			m.failed.Unknown = append(m.failed.Unknown, from+i)
		}
		if m.failed.Err == nil {
			m.failed.Err = err
		}
	}
}

// stop notes that the entries from there on were not sent.
func (m *manyJobs) stop(from int) {
	for i := from; i < len(m.receipts); i++ {
		m.failed.NotStored = append(m.failed.NotStored, i)
	}
}

func (m *manyJobs) done() ([]Receipt, error) {
	if m.failed.Err == nil {
		return m.receipts, nil
	}
	return m.receipts, &m.failed
}
