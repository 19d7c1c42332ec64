package resize_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// leavingKey is a key of a name that is in the first of so many partitions, or leaves it when there are so many.
func leavingKey(m *partition.Map, name string, n int, leaves bool) string {
	plan := resize.Plan(resize.Wanted(m, n))
	for i := 0; ; i++ {
		key := fmt.Sprint("key", i)
		if leaves == (plan[partition.BucketOfKey(name, key)] != 0) {
			return key
		}
	}
}

// More jobs of a key than are moved at once keep their order, from one partition to many and back.
func TestTheOrderOfAKeyIsKeptOverMoves(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
		key := leavingKey(s.directory.Map(), "keyed", 2, true)
		for i := range 1300 {
			s.store(t, rdb.NewJob{Queue: "keyed", ID: fmt.Sprintf("keyed-%s-%04d", key, i), Turn: rdb.Turn{Key: key}})
			if i < 100 {
				s.storeKeyed(t, i)
			}
		}
		homes := map[int]bool{}
		for _, n := range []int{2, 5, 3, 1} {
			require.NoError(t, resize.To(ctx, s.directory, n, nil))
			s.check(t)
			homes[s.directory.Map().Home(partition.Job{Name: "keyed", Key: key}).Partition] = true
		}
		assert.Greater(t, len(homes), 1, "it moved")
	})
}

// A mover dies with a batch on its way: whoever delivers it, or takes it back since its target is closed, keeps the
// order of the keys.
func TestTheOrderOfAKeyInABatchThatSomebodyLeftBehind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, target := range []int{1, 2} { // there is no partition 2
			s := newTown(t, server)
			s.namespace = fmt.Sprint(s.namespace, target)
			s.directory = s.another(s.driver)
			ctx := context.Background()
			require.NoError(t, resize.To(ctx, s.directory, 2, nil))
			key := leavingKey(s.directory.Map(), "keyed", 2, false)
			var items []rdb.MoveItem
			var want []string
			for i := range 200 {
				id := fmt.Sprintf("keyed-%s-%04d", key, i)
				s.store(t, rdb.NewJob{Queue: "keyed", ID: id, Turn: rdb.Turn{Key: key}})
				items = append(items, rdb.MoveItem{Kind: rdb.MoveBound, ID: id, Queue: "keyed", Key: key})
				want = append(want, id)
			}
			lead := rdb.Lead{Token: "dead", Life: time.Minute}
			leads, err := s.directory.Store(0).TakeLead(ctx, lead)
			require.NoError(t, err)
			require.True(t, leads)
			_, err = s.directory.Store(0).Freeze(ctx, lead, rdb.Target{Partition: target}, items)
			require.NoError(t, err)
			require.NoError(t, s.directory.Store(0).GiveUpLead(ctx, lead))
			for range 2 {
				_, err = resize.Settle(ctx, s.directory, 0)
				require.NoError(t, err)
			}
			assert.Equal(t, want, s.texts(t, s.cmd(t, target%2, "ZRANGE", "turns", 0, -1)))
		}
	})
}

// What a worker holds of a key, and gives back after the others have gone, goes before them.
func TestWhatIsGivenBackOfAKeyThatHasMovedComesFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
		key := leavingKey(s.directory.Map(), "keyed", 2, true)
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = fmt.Sprintf("keyed-%s-%04d", key, i)
			s.store(t, rdb.NewJob{Queue: "keyed", ID: ids[i], Turn: rdb.Turn{Key: key}})
		}
		w, claims := s.work(t, 0, "keyed", 3)
		require.Len(t, claims, 3)
		require.NoError(t, resize.Begin(ctx, s.directory, 2, nil))
		home := s.directory.Map().Home(partition.Job{Name: "keyed", Key: key}).Partition
		require.Equal(t, 1, home)
		note := fmt.Sprintf("0 keyed\x00\x00%s", key)
		assert.Equal(t, map[string]string{ids[0]: note, ids[1]: note, ids[2]: note}, s.hash(t, 1, "foreign"))
		assert.Equal(t, ids[3:], s.texts(t, s.cmd(t, 1, "ZRANGE", "turns", 0, -1)))

		settled, err := w.Settle(ctx, []redisconn.Call{
			w.End(claims[1], rdb.Ending{ID: ids[1], Queue: "keyed", State: "done"}),
			w.Release(rdb.Released{Queue: "keyed", Elements: []string{claims[0].Element, claims[2].Element},
				Ended: true})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		require.NoError(t, settled[1].Err)
		delete(s.jobs, ids[1])
		s.settleAll(t)
		assert.Equal(t, append([]string{ids[0], ids[2]}, ids[3:]...),
			s.texts(t, s.cmd(t, 1, "ZRANGE", "turns", 0, -1)))
		assert.Empty(t, s.foreigners(t))
		s.check(t)
	})
}

// The lock of a job with a key is where the key is, also for the rest of its time when the job has ended.
func TestALockForATimeGoesWithItsKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
		key := leavingKey(s.directory.Map(), "keyed", 2, true)
		digest := ""
		for i := 0; digest == ""; i++ { // one that would stay by itself
			if text := fmt.Sprint("digest", i); resize.Plan(resize.Wanted(s.directory.Map(),
				2))[partition.BucketOfLock(text)] == 0 {
				digest = partition.LockOfKey(text, "keyed", key)
			}
		}
		job := rdb.NewJob{Queue: "keyed", ID: "keyed-" + key + "-0", Turn: rdb.Turn{Key: key},
			Lock: rdb.Lock{Digest: digest, Kind: rdb.ForATime, Life: time.Hour}}
		s.store(t, job)
		w, claims := s.work(t, 0, "keyed", 1)
		_, err := w.Settle(ctx, []redisconn.Call{w.End(claims[0], rdb.Ending{ID: job.ID, Queue: "keyed",
			State: "done"})})
		require.NoError(t, err)
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		job.ID = "keyed-" + key + "-1"
		answer := s.store(t, job)
		assert.Equal(t, rdb.Unique, answer.Problems[0], "its time is not over")
	})
}

// What is stored of a key behind the walk of a mover goes where the rest goes, behind it.
func TestWhatIsStoredOfAKeyMeanwhileIsBroughtHome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
		key := leavingKey(s.directory.Map(), "keyed", 2, true)
		stored := 0
		more := func(n int) {
			for range n {
				s.store(t, rdb.NewJob{Queue: "keyed", ID: fmt.Sprintf("keyed-%s-%04d", key, stored),
					Turn: rdb.Turn{Key: key}})
				stored++
			}
		}
		more(3)
		mover := &ahead{Driver: s.driver, before: "partition/tracked", do: func() {
			require.NoError(t, s.directory.Refresh(ctx))
			home := s.directory.Map().Home(partition.Job{Name: "keyed", Key: key})
			if home.Partition == 0 && !home.Moving && stored < 100 {
				more(3)
			}
		}}
		require.NoError(t, resize.To(ctx, s.another(mover), 2, nil))
		require.Greater(t, stored, 3)
		s.check(t)
	})
}

// ahead does something before each call of a script, or before all calls.
type ahead struct {
	redisconn.Driver
	before string
	do     func()
}

func (d *ahead) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if d.before == "" || calls[0].Script != nil && calls[0].Script.Name == d.before {
		d.do()
	}
	return d.Driver.Pipeline(ctx, calls...)
}

// A key may run one job at a time: also while its jobs are brought to another partition, and a worker holds one where
// they were. Between any two steps of the mover workers of both ask for more.
func TestTheLimitOfAKeyHoldsWhileItMoves(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, began := range []bool{true, false} { // whether one runs before
			s := newTown(t, server)
			s.namespace = fmt.Sprint(s.namespace, began)
			s.directory = s.another(s.driver)
			ctx := context.Background()
			s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
			s.cmd(t, 0, "HSET", "keyrules", "keyed", "1 1 - - - -")
			key := leavingKey(s.directory.Map(), "keyed", 2, true)
			var ids []string
			for i := range map[bool]int{true: 5, false: 600}[began] { // more than go at once
				ids = append(ids, fmt.Sprintf("keyed-%s-%04d", key, i))
				s.store(t, rdb.NewJob{Queue: "keyed", ID: ids[i], Turn: rdb.Turn{Key: key}})
			}
			workers, running := map[int]*rdb.Worker{}, map[string]int{}
			var first []rdb.Claim
			workers[1], _ = s.work(t, 1, "keyed", 0)
			workers[0], first = s.work(t, 0, "keyed", map[bool]int{true: 5}[began])
			for _, claim := range first {
				_, id, _ := strings.Cut(claim.Element, ":")
				running[id] = 0
			}
			held := map[string]rdb.Claim{}
			ask := func() {
				for i, w := range workers {
					s.calls++
					fetched, err := w.Fetch(ctx, s.calls, 5, false, []rdb.Share{{Queue: "keyed", Jobs: 5}})
					require.NoError(t, err)
					for _, job := range fetched.Jobs {
						running[job.ID], held[job.ID] = i, job.Claim
					}
				}
				require.LessOrEqual(t, len(running), 1, "%v", running)
			}
			mover := &ahead{Driver: s.driver, do: ask}
			if !began { // they ask when the first of them are on their way
				mover.before = "partition/receive"
			}
			require.NoError(t, resize.Begin(ctx, s.another(mover), 2, nil))
			require.NoError(t, s.directory.Refresh(ctx))
			ask()
			require.Len(t, running, 1, "the first of them")
			require.Contains(t, running, ids[0])
			at := running[ids[0]]
			if began {
				require.Equal(t, 0, at)
				held[ids[0]] = first[0]
			}
			settled, err := workers[at].Settle(ctx, []redisconn.Call{
				workers[at].End(held[ids[0]], rdb.Ending{ID: ids[0], Queue: "keyed", State: "done"})})
			require.NoError(t, err)
			require.NoError(t, settled[0].Err)
			running = map[string]int{}
			s.settleAll(t)
			ask()
			assert.Equal(t, map[string]int{ids[1]: 1}, running, "then the next")
		}
	})
}

// A job with a place of its key is held where its name comes to live, while it lives where its key does. Its record is
// not there: its lock ends there all the same as it goes home.
func TestALockOfAHeldJobGoesHomeWithItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		name := "keyed"
		for i := 0; resize.Plan(resize.Wanted(s.directory.Map(), 2))[partition.BucketOfName(name)] == 1; i++ {
			name = fmt.Sprint("keyed", i)
		}
		s.cmd(t, 0, "HSET", "keyrules", name, "1 1 - - - -")
		key := leavingKey(s.directory.Map(), name, 2, true)
		digest := partition.LockOfKey("own", name, key)
		s.store(t, rdb.NewJob{Queue: name, ID: "held", Turn: rdb.Turn{Key: key},
			Lock: rdb.Lock{Digest: digest, Kind: rdb.UntilGone}})
		w, claims := s.work(t, 0, name, 1)
		require.Len(t, claims, 1)
		require.NoError(t, resize.Begin(ctx, s.directory, 2, nil))
		require.NoError(t, s.directory.Refresh(ctx))
		require.Contains(t, s.hash(t, 1, "unique"), digest, "it lives where its key does")
		require.NoError(t, resize.Bind(ctx, s.directory, name))
		require.Empty(t, s.foreigners(t), "it lives where it is held")
		assert.NotContains(t, s.hash(t, 1, "unique"), digest)
		assert.Contains(t, s.hash(t, 0, "unique"), digest)
		settled, err := w.Settle(ctx, []redisconn.Call{w.End(claims[0], rdb.Ending{ID: "held", Queue: name,
			State: "done", Belongings: rdb.Belongings{Lock: digest}})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		answer := s.store(t, rdb.NewJob{Queue: name, ID: "next", Turn: rdb.Turn{Key: key},
			Lock: rdb.Lock{Digest: digest, Kind: rdb.UntilGone}})
		assert.Empty(t, answer.Problems, "the lock is free")
	})
}
