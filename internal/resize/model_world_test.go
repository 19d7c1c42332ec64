package resize_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

const (
	partitions = 4
	most       = 2 // of "limited" that run at once
)

var (
	// movers bind the first two, which are in the buckets that move first
	queues = []string{early(partition.BucketOfName, "a"), early(partition.BucketOfName, "b"), "limited", "free"}
	kinds  = []rdb.LockKind{rdb.UntilEnded, rdb.UntilGone, rdb.UntilBegun, rdb.ForATime}
)

// world is a namespace, those who use it, and the ledger of what they were told.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	raw       redisconn.Driver
	faulty    *partitiontest.Outages
	namespace string
	faults    map[int]partitiontest.Fault
	eager     bool // what is bound is in the buckets that move first, and workers hold jobs for long

	mu       sync.Mutex // while a mover is at work
	programs []*program
	hands    []*hand // by partition
	dead     []*corpse
	workers  int
	made     int
	jobs     map[int]*entry
	said     []string
}

// entry is a job in the ledger.
type entry struct {
	number     int
	id, digest string
	key        string
	queue      string
	kind       rdb.LockKind
	acked      bool // its enqueue was answered: it is stored
	begun      bool // its handler began: a lock until then is free
	flagged    bool // who cancelled it was told that it will end so
	leaving    bool // or that this is noted with it, as it is on its way
	done       bool // it ended as done
	state      string
}

// The states of an entry. Of one whose end was sent and not answered nobody knows.
const (
	stored = "stored"
	held   = "held"
	unsure = "unsure"
	buried = "buried" // it is in the morgue
	gone   = "gone"   // it has ended, or was never stored
)

// program is an Enqueuer: one lane, of which one call is under way.
type program struct {
	directory *partition.Directory
	lane      string
	number    int64
	pending   *call
}

type call struct {
	at    int
	in    rdb.LaneCall
	job   rdb.NewJob
	entry *entry
	sent  bool // it may have been executed
}

// hand is a worker of one partition.
type hand struct {
	worker  *rdb.Worker
	fetches int64
	holds   []*claim
	pending *claim // whose end was not answered
}

type claim struct {
	rdb.Claim
	entry *entry
	call  redisconn.Call
	then  string // the state of the job when that was executed
	sent  bool   // it may have been executed

	cancelled bool // it is to end so
}

func (w *world) note(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) story() string {
	if os.Getenv("WORK_PARTITION_SEED") != "" {
		return strings.Join(w.said, "\n") // all of it
	}
	return strings.Join(w.said[max(0, len(w.said)-80):], "\n")
}

// step is one thing that somebody does.
func (w *world) step() {
	what := w.rng.IntN(16)
	if w.eager && (what == 8 || what == 9) {
		what = 6 // more is held while movers are at work
	}
	switch what {
	case 0, 1, 2, 3:
		w.enqueue(w.programs[w.rng.IntN(len(w.programs))])
	case 4, 5, 6:
		w.fetch(w.rng.IntN(partitions))
	case 7, 8, 9:
		w.settleOne(w.rng.IntN(partitions), true)
	case 10:
		w.due(w.rng.IntN(partitions))
	case 11, 12:
		w.cancel()
	case 13:
		w.death(w.rng.IntN(partitions))
	case 14:
		w.reap(w.rng.IntN(partitions))
	default:
		w.weather(w.rng.IntN(partitions))
	}
}

// weather lets a partition go away, lose its replies, or come back.
func (w *world) weather(i int) {
	if w.faults[i] != "" || w.rng.IntN(3) > 0 {
		w.up(i)
		return
	}
	w.faults[i] = []partitiontest.Fault{partitiontest.Down, partitiontest.Mute, partitiontest.Loading}[w.rng.IntN(3)]
	w.faulty.Set(i, w.faults[i])
	w.note("partition %d is %s", i, w.faults[i])
}

func (w *world) up(i int) {
	delete(w.faults, i)
	w.faulty.Up(i)
}

// newJob makes one that is bound by nothing, by a lock, by its id, by its key or by its name.
func (w *world) newJob() (rdb.NewJob, *entry) {
	w.made++
	e := &entry{number: w.made, id: fmt.Sprintf("job-%d", w.made), queue: queues[w.rng.IntN(len(queues))]}
	job := rdb.NewJob{Place: rdb.Back, Queue: e.queue}
	extra := ""
	switch w.rng.IntN(4) {
	case 0:
		e.kind = kinds[w.rng.IntN(len(kinds))]
		if e.queue != "free" && e.kind == rdb.ForATime { // with a name that is bound it is not promised
			e.kind = rdb.UntilEnded
		}
		e.digest = w.text(partition.BucketOfLock, fmt.Sprintf("%s-%s-%d", e.queue, e.kind, w.rng.IntN(3)))
		job.Lock = rdb.Lock{Digest: e.digest, Kind: e.kind}
		if e.kind == rdb.ForATime {
			// it is rarely free again
			e.digest = w.text(partition.BucketOfLock, fmt.Sprintf("%s-once-%d", e.queue, w.rng.IntN(40)))
			job.Lock = rdb.Lock{Digest: e.digest, Kind: e.kind, Life: time.Hour}
		}
		extra = fmt.Sprintf(`,"lock":%q,"lock_kind":%q`, e.digest, e.kind)
	case 1:
		e.id = w.text(partition.BucketOfID, fmt.Sprintf("given-%s-%d", e.queue, w.rng.IntN(5)))
		job.Chosen, extra = true, `,"given":true`
	case 2:
		job.Place, job.When = rdb.In, 1
	}
	if kind := w.rng.IntN(3); kind == 0 && !job.Chosen {
		e.key = "key" + strconv.Itoa(w.rng.IntN(6))
		job.Turn.Key = e.key
		if e.digest != "" { // it is a lock of that key
			of := e.digest
			e.digest = partition.LockOfKey(of+"-"+e.key, e.queue, e.key)
			job.Lock.Digest, extra = e.digest, strings.Replace(extra, strconv.Quote(of), strconv.Quote(e.digest), 1)
		}
		extra += fmt.Sprintf(`,"key":%q`, e.key)
	}
	job.ID = e.id
	job.Record = fmt.Appendf(nil, `{"jid":%q,"name":%q,"args":[],"t":%d%s}`, e.id, e.queue, e.number, extra)
	return job, e
}

// text is a text, or one like it in a bucket that moves first.
func (w *world) text(bucket func(string) int, like string) string {
	if w.eager {
		return early(bucket, like)
	}
	return like
}

// early is a text in one of the first buckets, which movers bring away before the others.
func early(bucket func(string) int, like string) string {
	for i := 0; ; i++ {
		if text := fmt.Sprintf("%s.%d", like, i); bucket(text) < 6 {
			return text
		}
	}
}

// enqueue sends the call of a program that is under way, or a new one to where its job belongs.
func (w *world) enqueue(p *program) {
	if p.pending == nil {
		m := p.directory.Map()
		job, e := w.newJob()
		given := ""
		if job.Chosen {
			given = job.ID
		}
		home := m.Home(partition.Job{Name: job.Queue, Key: e.key, Lock: job.Lock.Digest, Given: given})
		at := home.Partition
		if !home.Bound {
			at = m.Open()[w.rng.IntN(len(m.Open()))]
		}
		if home.Moving {
			_ = p.directory.Refresh(context.Background()) // and comes back later
			return
		}
		job.Tracked = m.Tracking && home.Bound
		p.number++
		p.pending = &call{at: at, in: rdb.LaneCall{Lane: p.lane, Number: p.number, Map: m.Version}, job: job, entry: e}
	}
	c := p.pending
	answer, err := p.directory.Store(c.at).EnqueueIn(context.Background(), c.in, []rdb.NewJob{c.job})
	w.note("%s enqueues %d %s lock %q at %d by %d: %v, %v", p.lane, c.entry.number, c.job.ID, c.entry.digest, c.at,
		c.in.Map,
		answer.Problems, err)
	var route *rdb.RouteError
	switch {
	case err == nil:
		p.pending = nil
		w.acknowledge(c.entry, answer)
	case errors.As(err, &route):
		require.True(w.t, !c.sent || c.entry.state == stored, "a call is refused whose job has begun")
		c.entry.state = gone // if it was executed before it stands somewhere, and the next check finds it
		p.pending = nil
		_ = p.directory.Refresh(context.Background())
	case errors.Is(err, partitiontest.ErrLost):
		c.sent = true
		w.appear(c.entry)
	case !c.sent:
		p.pending = nil // nothing has run
	}
}

// appear lists a job that may be there.
func (w *world) appear(e *entry) {
	if w.jobs[e.number] == nil {
		e.state = stored
		w.jobs[e.number] = e
	}
}

// acknowledge notes the answer to an enqueue, and looks whether it may be.
func (w *world) acknowledge(e *entry, answer rdb.Enqueued) {
	if len(answer.Problems) > 0 {
		require.True(w.t, e.state == "" || e.state == stored, "job %d was refused and has run", e.number)
		e.state = gone
		return
	}
	w.appear(e)
	e.acked = true
	for _, other := range w.jobs {
		if other == e || !other.acked || w.endedByMover(other) {
			continue
		}
		require.False(w.t, e.locks() && other.locks() && e.digest == other.digest, "jobs %d and %d have lock %s",
			e.number, other.number, e.digest)
		require.False(w.t, e.lives() && other.lives() && e.id == other.id, "jobs %d and %d have one id", e.number,
			other.number)
	}
}

func (e *entry) lives() bool { return e.state == stored || e.state == held || e.state == buried }

// locks tells whether a job surely has its lock.
func (e *entry) locks() bool {
	switch e.kind {
	case rdb.UntilBegun:
		return e.lives() && !e.begun
	case rdb.UntilEnded:
		return e.lives() && e.state != buried
	case rdb.ForATime:
		return e.lives() || e.done
	}
	return e.kind != "" && e.lives()
}

// fetch lets the worker of a partition take jobs. It does not ask where replies are lost: see the tests of workers.
func (w *world) fetch(i int) {
	h := w.hands[i]
	if w.faults[i] != "" || len(h.holds) > 5 {
		return
	}
	h.fetches++
	var shares []rdb.Share
	for _, queue := range queues {
		shares = append(shares, rdb.Share{Queue: queue, Jobs: 1})
	}
	fetched, err := h.worker.Fetch(context.Background(), h.fetches, 3, false, shares)
	require.NoError(w.t, err)
	for _, job := range fetched.Jobs {
		_, rest, _ := strings.Cut(string(job.Record), `"t":`)
		number := 0
		_, err := fmt.Sscanf(rest, "%d", &number)
		require.NoError(w.t, err)
		e := w.jobs[number]
		require.NotNil(w.t, e, "job %d was never stored, and begins in partition %d", number, i)
		require.Equal(w.t, stored, e.state, "job %d begins in partition %d", number, i)
		require.True(w.t, job.Cancelled || !e.flagged, "job %d was cancelled, and begins in partition %d", number, i)
		e.state = held
		h.holds = append(h.holds, &claim{Claim: job.Claim, entry: e, cancelled: job.Cancelled})
		w.note("job %d begins in partition %d, cancelled: %v", number, i, job.Cancelled)
	}
	running := 0
	for _, e := range w.jobs {
		if e.state == held && e.queue == "limited" {
			running++
		}
	}
	require.LessOrEqual(w.t, running, most, "so many of the limited ones run")
	w.checkKeys()
}

// perKey is how many jobs of each key may run, by their name.
var perKey = map[string]int{"a": 1, "free": 2, "limited": 1}

// checkKeys looks how many of each key run.
func (w *world) checkKeys() {
	running := map[string]int{}
	for _, e := range w.jobs {
		if e.state == held && e.key != "" {
			running[e.queue+" "+e.key]++
		}
	}
	for of, n := range running {
		queue, _, _ := strings.Cut(of, " ")
		if limit := perKey[queue]; limit > 0 {
			require.LessOrEqual(w.t, n, limit, "so many of the key %s run", of)
		}
	}
}

// due moves what is due on the shelves of a partition.
func (w *world) due(i int) {
	store := rdb.NewStore(w.faulty, partition.Namespace(w.namespace, i))
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		if page, err := store.Due(context.Background(), shelf, rdb.DueCall{}); err == nil && len(page.Page) > 0 {
			_, _ = store.Due(context.Background(), shelf, rdb.DueCall{Move: page.Page}) // sent again by the next one
		}
	}
}

// drain lets the worker of a partition run what there is.
func (w *world) drain(i int) {
	w.due(i)
	for range 20 {
		w.fetch(i)
		for range len(w.hands[i].holds) + 1 {
			w.settleOne(i, false)
		}
	}
}

func (w *world) living() int { return len(w.left()) }

// left are those that have not ended.
func (w *world) left() (numbers []int) {
	for number, e := range w.jobs {
		if e.state != gone && e.state != buried {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
