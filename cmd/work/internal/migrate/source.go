package migrate

import (
	"context"
	"time"

	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/redisconn"
)

// Source is the old side.
type Source interface {
	// Name is that of the library.
	Name() string
	// Ledgers are the beginnings of the keys of all ledgers that there may be.
	Ledgers(ctx context.Context) ([]string, error)
	// Shelves are the places with jobs, in the order in which they are to come over.
	Shelves(ctx context.Context) ([]ledger.Shelf, error)
	// Wanted tells whether what is on the shelf is to come over at all.
	Wanted(shelf ledger.Shelf) bool
	// Count is how many jobs are on the shelf.
	Count(ctx context.Context, shelf ledger.Shelf) (int, error)
	// Peek reads up to most jobs, in the order in which they are to come over, behind the first ones. Of those that run
	// it knows only those whose worker is gone.
	Peek(ctx context.Context, shelf ledger.Shelf, skip, most int) ([]Found, error)
	// Convert makes of a job what is stored here. The error says why it cannot come over.
	Convert(job ledger.Job, now time.Time) (*Coming, error)
	// Take takes jobs of one shelf into the batch, unless there is one. What it did is in the ledger.
	Take(ctx context.Context, shelf ledger.Shelf, t Taking) error
	// Close removes a batch, if it is still the one of that number, and puts some of its jobs back. It is mine if this
	// call has done it.
	Close(ctx context.Context, ledger string, b *ledger.Batch, back []int) (mine bool, err error)
	// Notes are sentences on what has no equivalent here.
	Notes(ctx context.Context) ([]string, error)
}

// Found is a job that was read. Err says why it can be none.
type Found struct {
	Job ledger.Job
	Err error
}

// Taking is what is to become a batch.
type Taking struct {
	Partition int
	Jobs      []ledger.Job
}

// Clock is the time of a Redis.
func Clock(ctx context.Context, driver redisconn.Driver) (time.Time, error) {
	value, err := redisconn.Do(ctx, driver, redisconn.Call{Command: "TIME"})
	if err != nil {
		return time.Time{}, err
	}
	r := redisconn.Read("TIME", value)
	now := r.Clock()
	return now, r.Err()
}
