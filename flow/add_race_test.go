package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// racing is a pool whose handlers have others add members to their flows while they end.
type racing struct {
	*kit
	adds sync.WaitGroup

	mu    sync.Mutex
	r     *rand.Rand
	added map[string]error // by the id of the member
	ran   []string
}

func (d *racing) random(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// lossy loses some replies to additions, and to the ends of members.
func (d *racing) lossy(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := pass(ctx, calls...)
	if name := pooltest.NameOf(calls[0]); (name == "add" || name == "complete") && d.random(4) == 0 {
		return nil, errors.New("connection reset")
	}
	return replies, err
}

// handle has up to three others add members, some of which add more, and returns at any time meanwhile.
func (d *racing) handle(ctx context.Context, job *work.Job, depth int) error {
	d.mu.Lock()
	d.ran = append(d.ran, job.ID)
	d.mu.Unlock()
	if depth > 3 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // as of one who does not know that the handler has returned
	for n := range d.random(4) {
		d.adds.Go(func() {
			name := fmt.Sprint("of ", depth, " ", n, " by ", job.ID[len("race-0/"):])
			if len(name) > 80 {
				return
			}
			err := flow.Add(ctx, job, name, work.Entry{Name: "a", Args: []any{depth + 1}})
			d.mu.Lock()
			defer d.mu.Unlock()
			d.added[job.ID[:len("race-0/")]+name] = err
		})
	}
	if d.random(2) == 0 {
		d.Number("EXISTS", "jobs") // so that some additions come before the end
	}
	return nil
}

// last is the handler of what runs at the end.
func (d *racing) last(job *work.Job) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran = append(d.ran, job.ID)
	return nil
}

// Additions race with the end of the last member, and replies are lost: what was added runs once, and before the end;
// what was refused never runs.
func TestAdditionsThatRaceWithTheLastEnd(t *testing.T) {
	t.Parallel()
	rounds := 5
	if n, err := strconv.Atoi(os.Getenv("FLOW_ROUNDS")); err == nil {
		rounds = n
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		over := 0
		for round := range rounds {
			d := &racing{kit: newKit(t, s), r: rand.New(rand.NewPCG(uint64(round), 2)), added: map[string]error{}}
			options := d.Options()
			d.Tamper(&options, &pooltest.Tampered{Tamper: d.lossy})
			pool := d.Start(work.NewWorkerPool(nil, 8, options).Job("a", d.handle).Job("end", d.last))
			for n := range 10 {
				f := flow.New(fmt.Sprint("race-", n)).OnDone("end")
				f.Job("a", 1)
				d.stored(f)
			}
			for n := range 10 {
				assert.Equal(t, flow.Done, d.ended(fmt.Sprint("race-", n)).State)
			}
			d.adds.Wait()
			d.Drained(pool)
			require.NoError(t, d.Stop(pool))
			over += d.check()
		}
		t.Logf("%d additions came too late", over) // how many is chance
	})
}

// check compares what was added with what ran, and returns how many additions came too late.
func (d *racing) check() (over int) {
	d.T.Helper()
	for id, err := range d.added {
		switch {
		case err == nil:
			assert.Equal(d.T, 1, count(d.ran, id), "%s was added", id)
			end := id[:len("race-0/")] + "@done"
			assert.Less(d.T, slices.Index(d.ran, id), slices.Index(d.ran, end), "%s ran before the end", id)
		case errors.Is(err, flow.ErrOver):
			assert.Zero(d.T, count(d.ran, id), "%s was refused", id)
			over++
		default:
			assert.NoError(d.T, err, id)
		}
	}
	for n := range 10 {
		assert.Equal(d.T, 1, count(d.ran, fmt.Sprint("race-", n, "/@done")))
	}
	return over
}
