package resize_test

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/resize"
)

// rest lets all be well, ends what is under way, and looks whether all that was stored has been run, once.
func (w *world) rest() {
	for i := range partitions {
		w.up(i)
	}
	for _, p := range w.programs {
		for p.pending != nil {
			w.enqueue(p)
		}
	}
	directory := partition.NewDirectory(w.faulty, w.namespace)
	for round := 0; ; round++ {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		require.NoError(w.t, directory.Refresh(ctx))
		m := directory.Map()
		require.NoError(w.t, resize.Begin(ctx, directory, max(1, len(m.Open())), nil))
		left := w.settleAll(ctx, directory)
		stop()
		for i := range partitions {
			for range len(w.dead) {
				w.reap(i)
			}
			keeper := limit.Keeper{} // a count that a mover has begun is ended by janitors
			require.NoError(w.t, keeper.Keep(context.Background(),
				directory.Store(i).AtMap(directory.Map().Version)))
			w.drain(i)
		}
		w.check("at rest")
		if w.living() == 0 && left == 0 && len(w.dead) == 0 && len(directory.Map().In(partition.Draining)) == 0 {
			break
		}
		if round == 60 {
			for i := range partitions {
				there, err := directory.Store(i).Remaining(context.Background())
				w.note("partition %d has %+v, %v", i, there, err)
			}
			require.Fail(w.t, "no end", "what is left: %v, %d, %d dead workers, %s", w.left(), left, len(w.dead),
				directory.Map().Encode())
		}
	}
	w.checkRest(directory.Map())
}

// checkRest looks whether nothing is left of moves once all have settled: what lives is where the map says, once.
func (w *world) checkRest(m *partition.Map) {
	require.Empty(w.t, m.Moving)
	require.Empty(w.t, m.Binding)
	require.Zero(w.t, m.Wanted)
	locks, schedules := map[string]int{}, 0
	for i := range partitions {
		for _, key := range []string{"frozen", "foreign", "stragglers"} {
			left := slices.DeleteFunc(w.texts(i, "HKEYS", key), func(id string) bool { return id == "" })
			require.Empty(w.t, left, "%s of partition %d", key, i)
		}
		for _, queue := range queues {
			require.Empty(w.t, w.texts(i, "SMEMBERS", "running:"+queue), "%s that run in partition %d", queue, i)
		}
		require.Empty(w.t, w.texts(i, "SMEMBERS", "cancelled"), "partition %d", i)
		for _, key := range []string{"holding", "parked"} {
			require.Empty(w.t, w.texts(i, "ZRANGE", key, 0, -1), "%s of partition %d", key, i)
		}
		require.Equal(w.t, int64(0), w.plain(i, "HEXISTS", "keyrules", ""), "partition %d holds keys", i)
		for _, digest := range w.texts(i, "HKEYS", "unique") {
			w.checkLock(m, i, digest)
			locks[digest]++
			require.Equal(w.t, 1, locks[digest], "lock %s is in two partitions", digest)
		}
		for _, id := range w.texts(i, "HKEYS", "schedules") {
			schedules++
			require.Equal(w.t, m.OfSchedule(id, partition.Job{Name: queues[0]}).Partition, i, "schedule %s", id)
		}
		for _, id := range w.texts(i, "HKEYS", "jobs") {
			require.Equal(w.t, partition.Open, m.State(i), "job %s is in partition %d", id, i)
		}
		w.checkRule(m, i)
	}
	require.Equal(w.t, partitions, schedules, "schedules")
}

// checkLock looks at a lock that is left when all jobs have ended but those in the morgue.
func (w *world) checkLock(m *partition.Map, i int, digest string) {
	var of *entry
	for _, e := range w.jobs {
		if e.digest == digest && e.locks() {
			of = e
		}
	}
	require.NotNil(w.t, of, "lock %s of partition %d is nobody's", digest, i)
	if !m.Single() {
		home := m.Home(partition.Job{Name: of.queue, Key: of.key, Lock: digest}).Partition
		if of.state == gone { // a lock without a job knows no name
			home = m.At(partition.BucketOfLock(digest))
		}
		require.Equal(w.t, home, i, "lock %s of job %d", digest, of.number)
	}
}

// checkRule looks whether the limit is where its name lives, and holds nobody up.
func (w *world) checkRule(m *partition.Map, i int) {
	rules := w.texts(i, "HGETALL", "limits")
	at := slices.Index(rules, "limited")
	home := m.Home(partition.Job{Name: "limited"}).Partition
	require.Equal(w.t, home == i, at >= 0, "the limit is in partition %d, its home is %d: %v", i, home, rules)
	if at >= 0 {
		require.True(w.t, strings.HasPrefix(rules[at+1], "0 2 "), "the limit reads %s", rules[at+1])
	}
}
