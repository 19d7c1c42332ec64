package resize_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// The model of a namespace that is divided while it is used: programs enqueue and cancel, workers fetch and settle, die
// with what they hold and are reaped, partitions go away and lose replies, movers begin, die between any two round
// trips and are followed by others. What each of them was told is in a ledger, and the partitions together must agree
// with it, at any time and, once all have settled, to the last lock. WORK_PARTITION_MODEL=200 makes so many runs,
// WORK_PARTITION_SEED=7 makes that one and tells all of its story. (A run that is made again differs in what depends on
// the order of a map, and on time.)
//
// It was seen to notice these rules broken, in four runs: what is frozen is marked with its
// id; nothing is handed over before its target has it.

func TestModelOfPartitionsOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "its Lua is slow, and the same runs are made on a real one")
	runPartitions(t, redistest.Embedded(t).DSN(), 1)
}

func TestModelOfPartitionsOnARealRedis(t *testing.T) {
	t.Parallel()
	runPartitions(t, redistest.Real(t).DSN(), 1)
}

func runPartitions(t *testing.T, dsn string, runs int) {
	t.Helper()
	first := uint64(time.Now().UnixNano() % 1_000_000)
	if n, err := strconv.Atoi(os.Getenv("WORK_PARTITION_MODEL")); err == nil {
		runs = n
	}
	if seed, err := strconv.ParseUint(os.Getenv("WORK_PARTITION_SEED"), 10, 64); err == nil {
		first, runs = seed, 1
	}
	for seed := first; seed < first+uint64(runs); seed++ {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := newWorld(t, dsn, seed)
			rounds, between := 12, 25
			if w.eager {
				rounds, between = 30, 8
			}
			for range rounds {
				for range between {
					w.step()
				}
				w.move()
				w.check("after a mover")
			}
			w.rest()
		})
	}
}

// watched is the driver of a mover: between its round trips others go on, and at one of them it dies.
type watched struct {
	redisconn.Driver
	world *world
	left  int // round trips until it dies
	die   context.CancelFunc
}

var errDead = errors.New("the mover is dead")

func (d *watched) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	if d.left <= 0 {
		d.die()
		return nil, errDead
	}
	d.left--
	for range d.world.rng.IntN(3) {
		d.world.step()
	}
	replies, err := d.Driver.Pipeline(context.WithoutCancel(ctx), calls...)
	if d.left == 0 && d.world.rng.IntN(2) == 0 { // it dies with the reply on its way
		return nil, errDead
	}
	return replies, err
}

// move lets a mover begin something, or go on with what it finds, until it is done, or dead, or something is away.
func (w *world) move() {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	longest := 400
	if w.eager {
		longest = []int{80, 160, 400}[w.rng.IntN(3)]
	}
	mover := &watched{Driver: w.faulty, world: w, left: 5 + w.rng.IntN(longest), die: stop}
	directory := partition.NewDirectory(mover, w.namespace)
	n, kind, name := 1+w.rng.IntN(partitions), w.rng.IntN(6), queues[w.rng.IntN(2)]
	halt := func(p resize.Progress) {
		if p.Waiting != nil {
			stop()
		}
	}
	switch kind {
	case 0:
		w.note("a mover binds %s", name)
		patient, end := context.WithTimeout(ctx, 200*time.Millisecond)
		_ = resize.Bind(patient, directory, name) // what it has left is gone on with
		end()
	case 1, 2:
		w.note("movers settle")
		w.settleAll(ctx, directory)
	default:
		w.note("a mover goes for %d", n)
		_ = resize.Begin(ctx, directory, n, halt)
	}
	w.forgetLeads()
}

func (w *world) settleAll(ctx context.Context, directory *partition.Directory) (left int) {
	if directory.Refresh(ctx) != nil {
		return 0
	}
	for i := range directory.Map().Len() {
		n, _ := resize.Settle(ctx, directory, i) // as with every second
		left += n
	}
	return left
}

// forgetLeads is that time passes, after which a dead mover leads no more.
func (w *world) forgetLeads() {
	for i := range partitions {
		w.plain(i, "UNLINK", "mover")
	}
}

// newWorld makes a namespace of which nothing is divided yet. Of "limited" two may run at once.
func newWorld(t *testing.T, dsn string, seed uint64) *world {
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	namespace := redistest.Namespace(t)
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), raw: driver, namespace: namespace, eager: seed%2 == 1,
		faulty: partitiontest.NewOutages(driver, namespace), jobs: map[int]*entry{},
		faults: map[int]partitiontest.Fault{}}
	for i := range 3 {
		w.programs = append(w.programs, &program{lane: "lane" + strconv.Itoa(i),
			directory: partition.NewDirectory(w.faulty, namespace)})
	}
	for i := range partitions {
		w.hands = append(w.hands, w.hire(i))
		w.plain(0, "HSET", "schedules", fmt.Sprintf("nightly%d", i),
			fmt.Sprintf(`{"spec":"@daily","name":%q,"args":[]}`, queues[0]))
	}
	for name, n := range perKey {
		w.plain(0, "HSET", "keyrules", name, fmt.Sprintf("1 %d - - - -", n))
	}
	require.NoError(t, limit.One(context.Background(), rdb.NewStore(driver, namespace), "limited",
		func(r *rdb.Rule) { r.Concurrent, r.Operator = most, true }))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d, what happened at last:\n%s", seed, w.story())
		}
	})
	return w
}
