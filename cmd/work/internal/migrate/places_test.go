package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/asynq"
	"github.com/265d0351/work/cmd/work/internal/migrate/gocraft"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// job is a job that came over.
func (k *kit) job(id string) *inspect.JobInfo {
	k.Helper()
	info, err := k.looked.Job(k.Context(), id)
	require.NoError(k, err, id)
	return info
}

// moved runs a bridge of a source to its end.
func (k *kit) moved(source migrate.Source, o migrate.Options) *migrate.Report {
	k.Helper()
	r, err := migrate.New(source, k.old, k.target(k.dsn), o).Run(k.Context())
	require.NoError(k, err)
	return r
}

// clock is the time of the Redis, in s.
func (k *kit) clock() int64 {
	k.Helper()
	now, err := migrate.Clock(k.Context(), k.old)
	require.NoError(k, err)
	return now.Unix()
}

// key is a key of gocraft/work.
func (k *kit) key(end string) string { return k.namespace + ":" + end }

// beats has a pool of gocraft/work that has beaten so long ago.
func (k *kit) beats(pool string, ago time.Duration) {
	k.Helper()
	k.do("SADD", k.key("worker_pools"), pool)
	k.do("HSET", k.key("worker_pools:"+pool), "heartbeat_at", k.clock()-int64(ago/time.Second))
}

// runs has a job that a pool of gocraft/work runs.
func (k *kit) runs(pool, id string) {
	k.Helper()
	k.do("LPUSH", k.key("jobs:mail:"+pool+":inprogress"), record("mail", id, `{}`, ""))
	k.do("INCR", k.key("jobs:mail:lock"))
	k.do("HINCRBY", k.key("jobs:mail:lock_info"), pool, 1)
}

// TestEveryPlaceOfGocraft has a job in each of them. What a pool runs that beats comes over when it has not beaten for
// 30 s, and not before.
func TestEveryPlaceOfGocraft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		due := time.Now().Add(time.Hour).Truncate(time.Second)
		k.do("SADD", k.key("known_jobs"), "mail")
		k.do("LPUSH", k.key("jobs:mail"), record("mail", "waits", `{"to":"ann"}`, ""))
		k.do("LPUSH", k.key("jobs:unlisted"), record("unlisted", "of-no-set", `{}`, "")) // no set names its queue
		k.do("ZADD", k.key("scheduled"), due.Unix(), record("mail", "later", `{}`, ""))
		k.do("ZADD", k.key("retry"), due.Unix(), record("mail", "again", `{}`, `,"fails":2,"err":"no"`))
		k.do("ZADD", k.key("dead"), 1700000000, record("mail", "dead", `{}`, `,"fails":4,"err":"never"`))
		k.do("ZADD", k.key("scheduled"), due.Unix(), record("mail", "periodic:mail:0 * * * * *:1900000000", `null`, ""))
		k.beats("gone", 40*time.Second)
		k.runs("gone", "lost")
		k.runs("reaped", "forgotten") // its pool has no heartbeat, and no set names it
		k.beats("alive", 20*time.Second)
		k.runs("alive", "running")

		fails := gocraft.MaxFails{"": 9, "mail": 4}
		r := k.moved(gocraft.New(k.old, k.namespace, fails), short())
		assert.Equal(t, map[ledger.Kind]int{ledger.Queued: 2, ledger.Scheduled: 2, ledger.Retrying: 1, ledger.Dead: 1,
			ledger.Running: 2}, r.Moved)
		assert.Equal(t, map[ledger.Kind]int{ledger.Running: 1}, r.Left)
		assert.False(t, r.Complete)
		for id, state := range map[string]work.State{"waits": work.StateQueued, "of-no-set": work.StateQueued,
			"later": work.StateScheduled, "again": work.StateScheduled, "dead": work.StateStalled,
			"lost": work.StateQueued, "forgotten": work.StateQueued} {
			assert.Equal(t, state, k.job("gocraft-"+id).State, id)
		}
		assert.WithinDuration(t, due, k.job("gocraft-later").RunAt, time.Second)
		again := k.job("gocraft-again")
		assert.WithinDuration(t, due, again.RunAt, time.Second)
		assert.Equal(t, 1, *again.Options.Retries, "4 attempts, of which 2 have failed")
		assert.Equal(t, "no", again.Meta["gocraft.error"])
		assert.Equal(t, []string{migrate.DeadTag}, k.job("gocraft-dead").Tags)
		assert.EqualValues(t, 1, k.number("HLEN", k.key("jobs:mail:lock_info"))-2, "three pools have run some")
		assert.Equal(t, "1", k.words("GET", k.key("jobs:mail:lock")), "the one that runs counts for MaxConcurrency")

		k.beats("alive", 31*time.Second)
		r = k.moved(gocraft.New(k.old, k.namespace, fails), short())
		assert.Equal(t, map[ledger.Kind]int{ledger.Running: 1}, r.Moved)
		assert.True(t, r.Complete)
		assert.Equal(t, "0", k.words("GET", k.key("jobs:mail:lock")))
	})
}

// words is the text of a reply.
func (k *kit) words(command string, args ...any) string {
	k.Helper()
	b, _ := k.do(command, args...).([]byte)
	return string(b)
}

// TestAPeriodicJobOfGocraftIsEnqueuedTwiceAndStoredOnce: its pools write the ticks of the next four minutes every two
// minutes, so they write again what has come over.
func TestAPeriodicJobOfGocraftIsEnqueuedTwiceAndStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		due := k.clock() + 120
		tick := record("mail", fmt.Sprint("periodic:mail:0 */2 * * * *:", due), `null`, "")
		for i := range 2 {
			k.do("ZADD", k.key("scheduled"), due, tick)
			r := k.moved(gocraft.New(k.old, k.namespace, nil), short())
			assert.Equal(t, 1, r.Total)
			assert.Equal(t, i, r.Twins)
			assert.True(t, r.Complete)
		}
		assert.Equal(t, "[]", string(k.job(fmt.Sprint("gocraft-periodic:mail:0 */2 * * * *:", due)).Args))
		counts, err := k.looked.Counts(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, counts.Scheduled)
	})
}

// TestTheLocksOfGocraft: a lock comes over with what is left of its day, and with the args that the last enqueue has
// put into it. There it is free.
func TestTheLocksOfGocraft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		unique := func(id, args, key, value string) {
			lock := k.key("unique:mail:" + key)
			k.do("SADD", k.key("known_jobs"), "mail")
			k.do("LPUSH", k.key("jobs:mail"), record("mail", id, args,
				fmt.Sprintf(`,"unique":true,"unique_key":%q`, lock)))
			k.do("SET", lock, value, "EX", 3600)
		}
		unique("by-args", `{"n":1}`, `{"n":1}`, "1")
		unique("by-key", `{"n":2}`, `{"of":"ann"}`, record("mail", "by-key", `{"n":3}`, ""))
		r := k.moved(gocraft.New(k.old, k.namespace, nil), short())
		assert.Equal(t, 2, r.Total)
		assert.Zero(t, k.number("EXISTS", k.key(`unique:mail:{"n":1}`), k.key(`unique:mail:{"of":"ann"}`)))
		assert.JSONEq(t, `[{"n":3}]`, string(k.job("gocraft-by-key").Args), "those of the last enqueue")

		enq, err := work.NewEnqueuer(k.dsn, work.Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		twin, err := enq.With(work.Unique(work.UniqueOptions{})).Enqueue(t.Context(), "mail", map[string]int{"n": 1})
		require.NoError(t, err)
		assert.Equal(t, "gocraft-by-args", twin.ID)

		unique("late", `{"n":1}`, `{"n":1}`, "1") // an old program enqueues it once more
		r = k.moved(gocraft.New(k.old, k.namespace, nil), short())
		assert.Equal(t, 1, r.Twins)
		assert.Contains(t, r.TwinIDs[0].Reason, "gocraft-by-args")
		assert.True(t, r.Complete)
	})
}

// TestTheLocksOfPoolsOfGocraftThatDied: between taking a job and freeing its lock, or while another of its kind waits.
func TestTheLocksOfPoolsOfGocraftThatDied(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		k.do("SADD", k.key("known_jobs"), "mail")
		held := func(id, key, value string) {
			lock := k.key("unique:mail:" + key)
			k.do("LPUSH", k.key("jobs:mail:gone:inprogress"), record("mail", id, `{"n":1}`,
				fmt.Sprintf(`,"unique":true,"unique_key":%q`, lock)))
			k.do("SET", lock, value, "EX", 3600)
		}
		held("by-args", `{"n":1}`, "1")
		held("by-key", "own", record("mail", "by-key", `{"n":1}`, ""))
		held("behind", "other", record("mail", "waits", `{"n":2}`, ""))
		k.do("LPUSH", k.key("jobs:mail"), record("mail", "waits", `{"n":0}`,
			fmt.Sprintf(`,"unique":true,"unique_key":%q`, k.key("unique:mail:other"))))
		r := k.moved(gocraft.New(k.old, k.namespace, nil), short())
		assert.Equal(t, 4, r.Total)
		assert.Zero(t, r.Twins)
		assert.True(t, r.Complete)
		assert.JSONEq(t, `[{"n":1}]`, string(k.job("gocraft-behind").Args))
		assert.JSONEq(t, `[{"n":2}]`, string(k.job("gocraft-waits").Args), "those of its last enqueue")
		assert.Zero(t, k.number("EXISTS", k.key(`unique:mail:{"n":1}`), k.key("unique:mail:own"),
			k.key("unique:mail:other")))
	})
}

// TestWhatGocraftHasAndThisHasNot is told.
func TestWhatGocraftHasAndThisHasNot(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		k.do("SADD", k.key("known_jobs"), "mail", "plain")
		k.do("SET", k.key("jobs:mail:paused"), "1")
		k.do("SET", k.key("jobs:mail:max_concurrency"), "3")
		k.do("SET", k.key("jobs:plain:max_concurrency"), "0")
		k.do("SET", k.key("last_periodic_enqueue"), k.clock())
		o := short()
		o.DryRun = true
		assert.Equal(t, []string{
			"job mail has MaxConcurrency: declare it, JobOptions.Limit",
			"job mail is paused: see work pause",
			"periodic jobs are declared in code: declare them, pool.Periodic(spec, name)",
		}, k.moved(gocraft.New(k.old, k.namespace, nil), o).Notes)
	})
}

// TestANamespaceOfGocraftThatIsMistyped is told, with those that there are: "0 jobs came over" would look like success.
func TestANamespaceOfGocraftThatIsMistyped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		k.do("SADD", k.key("known_jobs"), "mail", "export")
		notes := func(namespace string, fails gocraft.MaxFails) string {
			o := short()
			o.DryRun = true
			return strings.Join(k.moved(gocraft.New(k.old, namespace, fails), o).Notes, "\n")
		}
		missed := notes(k.namespace+"x", nil)
		assert.Contains(t, missed, fmt.Sprintf("nothing of gocraft/work is in the namespace %q there", k.namespace+"x"))
		assert.Contains(t, missed, fmt.Sprintf("%q", k.namespace))
		assert.Contains(t, missed, "see --from-namespace")
		assert.Equal(t, `--max-fails of "exprot": no job there has that name, did you mean "export"?`,
			notes(k.namespace, gocraft.MaxFails{"": 3, "mail": 2, "exprot": 4}))
		assert.Empty(t, notes(k.namespace, gocraft.MaxFails{"mail": 2}))
	})
}

// TestJobsThatNobodyServesAreTold names them, also before they come: the namespace may be a mistyped one.
func TestJobsThatNobodyServesAreTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		_ = k.pool("mail")
		sides["gocraft"].add(k, "1", "mail")
		sides["gocraft"].add(k, "2", "export")
		o := short()
		o.DryRun = true
		for range 2 {
			assert.Equal(t, []string{`no worker of this namespace serves "export" now: they wait until one does`},
				k.moved(gocraft.New(k.old, k.namespace, nil), o).Notes)
			o.DryRun = false
		}
	})
}

// TestAQueueOfAsynqThatIsMistyped is told, with those that there are.
func TestAQueueOfAsynqThatIsMistyped(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t).DSN())
	assert.Empty(t, k.do("SMEMBERS", "asynq:queues"))
	o := short()
	o.DryRun = true
	notes := func(queues ...string) []string {
		return k.moved(asynq.New(k.old, asynq.Options{Queues: queues}), o).Notes
	}
	assert.Equal(t, []string{"no queue of asynq is there: is --from the Redis that its servers use, and the number " +
		"of its database?"}, notes())
	k.do("SADD", "asynq:queues", "default", "mail")
	assert.Empty(t, notes("mail"))
	assert.Equal(t, []string{`--queue "mial": there is none of that name, but default, mail`}, notes("mial"))
}

// listed puts a task of asynq into one of its places.
func (k *kit) listed(id, state string, more ...[]byte) (place string) {
	k.Helper()
	m := message(append([][]byte{text(1, "mail"), text(2, `{"id":"`+id+`"}`), text(3, id), number(5, 3)}, more...)...)
	k.task(task{state: state, message: m}, id)
	return "asynq:{" + k.namespace + "}:" + state
}

// TestEveryPlaceOfAsynq has a task in each of them. An active one comes over when its lease has run out 30 s ago, and
// not before.
func TestEveryPlaceOfAsynq(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s.DSN())
		due := time.Now().Add(time.Hour).Truncate(time.Second)
		lease := "asynq:{" + k.namespace + "}:lease"
		k.do("LPUSH", k.listed("waits", "pending"), "waits")
		k.do("ZADD", k.listed("later", "scheduled"), due.Unix(), "later")
		k.do("ZADD", k.listed("again", "retry", number(6, 2), text(7, "no")), due.Unix(), "again")
		k.do("ZADD", k.listed("dead", "archived", number(6, 3)), 1700000000, "dead")
		k.listed("grouped", "aggregating", text(14, "g"))
		k.do("ZADD", "asynq:{"+k.namespace+"}:g:g", k.clock(), "grouped")
		k.do("SADD", "asynq:{"+k.namespace+"}:groups", "g")
		for id, ago := range map[string]int64{"lost": 31, "running": 20} {
			k.do("LPUSH", k.listed(id, "active"), id)
			k.do("ZADD", lease, k.clock()-ago, id)
		}
		source := func(groups bool) migrate.Source {
			return asynq.New(k.old, asynq.Options{Queues: []string{k.namespace}, Groups: groups})
		}
		id := func(id string) string { return "asynq-" + k.namespace + "-" + id }

		r := k.moved(source(false), short())
		assert.Equal(t, map[ledger.Kind]int{ledger.Queued: 1, ledger.Scheduled: 1, ledger.Retrying: 1, ledger.Dead: 1,
			ledger.Running: 1}, r.Moved)
		assert.Equal(t, map[ledger.Kind]int{ledger.Running: 1, ledger.Grouped: 1}, r.Left)
		require.NotEmpty(t, r.Notes)
		assert.Contains(t, r.Notes[0], "tasks that wait in group g of queue "+k.namespace+": 1;")
		for of, state := range map[string]work.State{"waits": work.StateQueued, "later": work.StateScheduled,
			"again": work.StateScheduled, "dead": work.StateStalled, "lost": work.StateQueued} {
			assert.Equal(t, state, k.job(id(of)).State, of)
		}
		assert.WithinDuration(t, due, k.job(id("again")).RunAt, time.Second)
		assert.Equal(t, 1, *k.job(id("again")).Options.Retries)
		assert.Equal(t, "no", k.job(id("again")).Meta["asynq.error"])
		assert.Equal(t, 2, *k.job(id("lost")).Options.Retries, "one was used by the attempt that was lost")
		assert.Equal(t, []string{migrate.DeadTag}, k.job(id("dead")).Tags)

		k.do("ZADD", lease, k.clock()-31, "running")
		r = k.moved(source(true), short())
		assert.Equal(t, map[ledger.Kind]int{ledger.Running: 1, ledger.Grouped: 1}, r.Moved)
		assert.True(t, r.Complete)
		assert.Equal(t, "g", k.job(id("grouped")).Meta["asynq.group"])
		assert.Zero(t, k.number("EXISTS", lease, "asynq:{"+k.namespace+"}:groups"))
	})
}
