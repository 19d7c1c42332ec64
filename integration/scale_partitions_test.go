package integration

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
	"github.com/265d0351/work/internal/resize"
)

// quarters is how many partitions, and primaries, a namespace has here.
const quarters = 4

// quartered is a cluster in which each of four primaries has one of the four partitions of a namespace.
type quartered struct {
	*topology.Cluster
	namespace string
}

func startQuartered(t *testing.T, namespace string, replicas int, args ...string) quartered {
	t.Helper()
	q := quartered{topology.StartCluster(t, topology.ClusterOptions{Primaries: quarters, Replicas: replicas,
		Args: args}), namespace}
	for i, s := range q.Primaries() {
		if slot := q.at(i).slot; q.Owner(slot) != s {
			q.MoveSlots(s, slot)
		}
	}
	return q
}

// at is the cluster as that partition sees it.
func (q quartered) at(number int) spread {
	return spread{q.Cluster, topology.Slot("{" + partition.Namespace(q.namespace, number) + "}")}
}

// TestScalePartitionsFailover kills the primaries of the partitions in turn, under load.
func TestScalePartitionsFailover(t *testing.T) {
	t.Parallel()
	if !scaleLong() {
		t.Skip("it needs a dozen servers: make scale")
	}
	const rounds = 20
	namespace := redistest.Namespace(t)
	q := startQuartered(t, namespace, 2, safe...)
	l := startLoadOn(t, q.at(0), namespace, quarters, work.WaitReplicas(1, 2*time.Second))
	var recovered times
	for round := range rounds {
		c := q.at(round % quarters)
		old := c.primary()
		followers := c.followers(old)
		old.Kill()
		at := promotion(t, followers)
		c.awaitPromotion(old)
		recovered = append(recovered, l.worksAfter(at))
		old.Restart()
		c.awaitReplica(old)
		l.ledger.await(t, ended, 0, len(l.ledger.of(ended, 0))+100)
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	l.fewTogether()
	l.goesOn()
	measured(t, fmt.Sprintf("Cluster, 4 partitions on a primary each, WaitReplicas(1), min-replicas-to-write 1: "+
		"SIGKILL of the primary of one, %d times", rounds),
		"lost %d of %d acknowledged jobs; %d were begun again; from the promotion until a job enqueued after it has "+
			"ended: %v", len(lost), len(l.accepted), l.again(), recovered)
}

// TestScalePartitionsSlots moves the slot of each partition to another primary and back, under load.
func TestScalePartitionsSlots(t *testing.T) {
	t.Parallel()
	if !scaleLong() {
		t.Skip("TestScaleSlots moves slots in its short form: make scale")
	}
	const rounds = 20
	namespace := redistest.Namespace(t)
	q := startQuartered(t, namespace, 0)
	l := startLoadOn(t, q.at(0), namespace, quarters)
	primaries := q.Primaries()
	for range rounds {
		for i := range quarters {
			c := q.at(i)
			home := c.primary()
			for _, to := range []*topology.Server{primaries[(slices.Index(primaries, home)+1)%quarters], home} {
				c.MoveSlots(to, c.slot)
			}
		}
		l.worksAfter(time.Now())
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	assert.Zero(t, l.again(), "jobs that were begun twice")
	l.fewTogether()
	l.goesOn()
	measured(t, fmt.Sprintf("Cluster, 4 partitions: the slot of each moved to another node and back, %d times", rounds),
		"lost %d of %d acknowledged jobs, %d were begun again", len(lost), len(l.accepted), l.again())
}

// lone is one server, to which nothing is done.
type lone struct {
	servers
	process *redistest.Process
}

func (l lone) DSN() string { return l.process.DSN() }

// TestScaleResize makes a namespace one of 4, 16 and 3 partitions, under load. It is less in the short form, since
// a machine that is busy with other tests needs a minute and more for a change under all of it, and least under the
// race detector.
func TestScaleResize(t *testing.T) {
	t.Parallel()
	rounds, sizes, rest := 1, []int{4, 16, 3}, 5*pace
	if redistest.ShortRace() {
		sizes = []int{3, 2}
	}
	if scaleLong() {
		rounds, sizes, rest = 5, []int{4, 16, 3, 1}, pace
	}
	l := newLoad(t, lone{process: redistest.Dedicated(t)}, redistest.Namespace(t), 1)
	l.pace, l.partitions = rest, slices.Max(sizes)
	l.begin()
	var took []time.Duration
	for range rounds {
		for _, n := range sizes {
			began := time.Now()
			l.resize(n)
			took = append(took, time.Since(began))
			l.worksAfter(time.Now())
			l.ledger.await(t, ended, 0, len(l.ledger.of(ended, 0))+100)
		}
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	assert.Zero(t, l.again(), "jobs that were begun twice")
	l.fewTogether()
	l.goesOn()
	measured(t, fmt.Sprintf("partitions from 1 to %v, %d times", sizes, rounds),
		"lost %d of %d acknowledged jobs, %d were begun again; at most %d of a name with limit %d ran at once; a "+
			"change took at most %v", len(lost), len(l.accepted), l.again(), l.togetherOf(l.few), narrow,
		slices.Max(took).Round(10*time.Millisecond))
}

// changeWithin bounds how long a change of the number of partitions may take. It ends when all buckets have moved, each
// in some calls for all partitions: a busy machine has been seen to need 90 s for 16 of them.
const changeWithin = 5 * time.Minute

// resize makes the namespace one of so many partitions, as the command does.
func (l *load) resize(n int) {
	l.t.Helper()
	driver, err := redisconn.Open(l.direct)
	require.NoError(l.t, err)
	defer func() { _ = driver.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), changeWithin)
	defer cancel()
	err = resize.To(ctx, partition.NewDirectory(driver, l.namespace), n, nil)
	require.NoError(l.t, err, "it becomes one of %d partitions", n)
}

// fewTogether checks that the limit of a name held all the time.
func (l *load) fewTogether() {
	l.t.Helper()
	some := maps.Clone(l.few)
	maps.DeleteFunc(some, func(_ string, is bool) bool { return !is })
	require.NotEmpty(l.t, some)
	l.few = some
	assert.LessOrEqual(l.t, l.togetherOf(some), narrow)
}

// TestScalePartitionStopped stops the server of one of four partitions for a while. The others keep their rate, and its
// jobs run afterwards.
func TestScalePartitionStopped(t *testing.T) {
	t.Parallel()
	long := 3 * time.Second
	if scaleLong() {
		long = time.Minute
	}
	on := onOwn(t, redistest.Namespace(t), quarters)
	s := startStream(t, on)
	before := s.during(long)
	require.NoError(t, on.nodes[quarters-1].Pause())
	stopped := s.during(long)
	require.NoError(t, on.nodes[quarters-1].Resume())
	lost := s.drained()
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(s.known))
	assert.Greater(t, float64(stopped), 0.6*float64(before),
		"jobs that ended while one was stopped, and as long before")
	measured(t, fmt.Sprintf("Cluster, 4 partitions on a primary each: one of them stopped for %v", long),
		"lost %d of %d acknowledged jobs; %d ended meanwhile, and %d as long before", len(lost), len(s.known), stopped,
		before)
}

// stream is callers that enqueue jobs which may go anywhere, and a pool that works them.
type stream struct {
	t       *testing.T
	enq     *work.Enqueuer
	ended   atomic.Int64
	end     context.CancelFunc
	callers sync.WaitGroup

	mu    sync.Mutex
	known map[string]bool // acknowledged -> has ended
	done  map[string]bool
}

func startStream(t *testing.T, on divided) *stream {
	t.Helper()
	s := &stream{t: t, known: map[string]bool{}, done: map[string]bool{}}
	options := work.WorkerOptions{Redis: on.dsn, Namespace: on.namespace, Logger: slog.New(slog.DiscardHandler)}
	pool := work.NewWorkerPool(nil, 20, options).Job("plain", func(job *work.Job) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done[job.ID] = true
		s.ended.Add(1)
		return nil
	})
	require.NoError(t, pool.Start(t.Context()))
	var err error
	s.enq, err = work.NewEnqueuer(on.dsn, work.Namespace(on.namespace), work.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s.end = cancel
	for range 16 {
		s.callers.Go(func() {
			for ctx.Err() == nil {
				s.callers.Go(func() { s.enqueue(ctx) }) // one that waits for a stopped partition holds up no other
				<-time.After(pace)                      // the rate of the load
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		s.callers.Wait()
		_ = s.enq.Close()
		stop, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, pool.Stop(stop))
	})
	return s
}

func (s *stream) enqueue(ctx context.Context) {
	if receipt, err := s.enq.Enqueue(ctx, "plain"); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known[receipt.ID] = true
	}
}

// during is how many jobs end in that time.
func (s *stream) during(d time.Duration) int64 {
	before := s.ended.Load()
	<-time.After(d) // so long is measured
	return s.ended.Load() - before
}

// drained ends the callers and waits until all that were acknowledged have ended; it returns those that have not.
func (s *stream) drained() (lost []string) {
	s.end()
	s.callers.Wait()
	assert.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		lost = lost[:0]
		for id := range s.known {
			if !s.done[id] {
				lost = append(lost, id)
			}
		}
		return len(lost) == 0
	}, patience, 50*time.Millisecond)
	return lost
}
