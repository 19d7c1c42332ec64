package doctest_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/rights"
)

// aclRules are the rules that docs/security.md gives to the user of each role, and those that it adds for the doctor.
func aclRules(t *testing.T) (roles map[rights.Role]string, doctor string) {
	t.Helper()
	page, err := os.ReadFile("docs/security.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^redis-cli ACL SETUSER shop-([a-z]+) ((?:.*\\\n)*.*)$`).
		FindAllStringSubmatch(string(page), -1)
	roles = map[rights.Role]string{}
	for _, line := range lines {
		rules := strings.Join(strings.Fields(strings.ReplaceAll(line[2], "\\\n", " ")), " ")
		at := slices.IndexFunc(rights.Roles(), func(r rights.Role) bool { return r.String() == line[1] })
		require.GreaterOrEqual(t, at, 0, line[1])
		if _, told := roles[rights.Role(at)]; told {
			doctor = rules
		} else {
			roles[rights.Role(at)] = rules
		}
	}
	return roles, doctor
}

// TestThePageHasTheRightsOfEachRole: the page has the lists that programs ask for.
func TestThePageHasTheRightsOfEachRole(t *testing.T) {
	t.Parallel()
	roles, doctor := aclRules(t)
	for _, role := range []rights.Role{rights.Enqueuer, rights.Worker, rights.Reader, rights.Operator} {
		assert.Equal(t, "on '>PASSWORD' "+role.ACL("shop"), roles[role], "role %s in docs/security.md", role)
	}
	assert.Equal(t, "+scan", doctor)
}

// TestUsersOfTheRolesAreEnough runs a pool, an enqueuer, an operator and a reader, each as the user of the page for its
// role, on a database that is not 0. Redis notes whatever it refuses them, so that a refusal that nobody reports shows
// as well.
func TestUsersOfTheRolesAreEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	k := newKit(t, server.Server())
	admin, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer admin.Close()
	allow := func(role rights.Role, rules string) {
		args := []any{"SETUSER", role.String()}
		for _, rule := range strings.Fields(strings.ReplaceAll(rules, "'", "")) {
			args = append(args, strings.ReplaceAll(rule, "{shop}", "{"+k.Namespace+"}"))
		}
		_, err := admin.Do("ACL", args...)
		require.NoError(t, err)
	}
	refusals := func() []any {
		log, err := redis.Values(admin.Do("ACL", "LOG"))
		require.NoError(t, err)
		return log
	}
	roles, more := aclRules(t)
	for role, rules := range roles {
		allow(role, rules)
	}
	options := k.Options()
	options.Connection = nil
	u := newUserOfAll(t, k, options, func(role rights.Role) string {
		return "redis://" + role.String() + ":PASSWORD@" + server.Addr() + "/1"
	})
	u.runJobs()
	u.lookAtAll()
	u.changeAll()
	assert.Empty(t, refusals())
	k.NoTrouble(t)

	_, err = doctor.Examine(k.Ctx(), u.hands, doctor.Options{})
	require.ErrorContains(t, err, "role doctor")
	require.ErrorContains(t, err, ": SCAN: grant them by ACL SETUSER USER +scan")
	require.NotEmpty(t, refusals(), "what is refused shows there")
	_, err = admin.Do("ACL", "LOG", "RESET")
	require.NoError(t, err)
	allow(rights.Operator, more)
	hands, err := inspect.New(u.dsn(rights.Operator), work.Namespace(k.Namespace))
	require.NoError(t, err)
	defer hands.Close()
	found, err := doctor.Examine(k.Ctx(), hands, doctor.Options{Repair: true})
	require.NoError(t, err)
	assert.Empty(t, found.Findings)
	require.NoError(t, u.pool.Stop(k.Ctx()))
	_, err = hands.Erase(k.Ctx())
	require.NoError(t, err)
	assert.Empty(t, refusals())
}

// TestAUserWithoutInfoStillWorks: the settings of Redis are not looked at then.
func TestAUserWithoutInfoStillWorks(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	k := newKit(t, server.Server())
	admin, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Do("ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", "-info")
	require.NoError(t, err)
	options := k.Options()
	options.Redis, options.Connection = "redis://shop:secret@"+server.Addr()+"/0", nil
	ran := make(chan struct{}, 1)
	k.Start(work.NewWorkerPool(nil, 1, options).Job("n", func() error { ran <- struct{}{}; return nil }))
	k.Enqueue("n")
	pooltest.Receive(t, ran)
	k.NoTrouble(t)
}

// userOfAll uses what the library offers, so that all of it is tried by a user who may not do everything.
type userOfAll struct {
	*kit
	pool  *work.WorkerPool
	enq   *work.Enqueuer
	eyes  *inspect.Inspector // of a reader
	hands *inspect.Inspector // of an operator
	dsn   func(rights.Role) string
	held  chan struct{} // closed to let jobs of "hold" end
}

func newUserOfAll(t *testing.T, k *kit, options work.WorkerOptions, dsn func(rights.Role) string) *userOfAll {
	t.Helper()
	u := &userOfAll{kit: k, held: make(chan struct{}), dsn: dsn}
	options.Redis = dsn(rights.Worker)
	options.ObjectGrace = time.Millisecond
	u.pool = work.NewWorkerPool(nil, 10, options).
		JobWithOptions("answer", work.JobOptions{Retention: time.Hour},
			func(text string) (int, error) { return len(text), nil }).
		JobWithOptions("fail", work.JobOptions{Retries: -1}, func() error { return errors.New("as wanted") }).
		JobWithOptions("bounded", work.JobOptions{Limit: work.Limit{Concurrent: 1, Rate: 1000, Per: time.Second}},
			pooltest.Nothing).
		Job("hold", func(ctx context.Context, job *work.Job) error {
			job.Logger().Info("a line")
			select {
			case <-u.held:
			case <-ctx.Done():
			}
			return nil
		}).
		Job("long", func(ctx context.Context, job *work.Job) error {
			var row int
			_, loaded := job.LoadState(ctx, &row)
			job.Checkin("begun")
			job.Logger().Info("a line")
			return errors.Join(loaded, job.Progress(1), job.SaveState(ctx, 1))
		}).
		Job("snooze", func(job *work.Job) error { return work.Snooze(time.Hour) }).
		PeriodicWithOptions("@every 1s", "bounded", work.PeriodicOptions{ID: "often"})
	k.Start(u.pool)
	var err error
	u.enq, err = work.NewEnqueuer(dsn(rights.Enqueuer), work.Namespace(k.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.enq.Close() })
	u.eyes, err = inspect.New(dsn(rights.Reader), work.Namespace(k.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.eyes.Close() })
	u.hands, err = inspect.New(dsn(rights.Operator), work.Namespace(k.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.hands.Close() })
	return u
}

// store enqueues one job with options.
func (u *userOfAll) store(name string, options []work.EnqueueOption, args ...any) string {
	u.T.Helper()
	receipt, err := u.enq.With(options...).Enqueue(u.Ctx(), name, args...)
	require.NoError(u.T, err)
	return receipt.ID
}

// runJobs ends jobs in all ways.
func (u *userOfAll) runJobs() {
	t, ctx := u.T, u.Ctx()
	large := strings.Repeat("x", 5<<19) // an object of three pieces
	got, err := work.Wait[int](ctx, u.enq, u.store("answer", nil, large))
	require.NoError(t, err)
	assert.Equal(t, len(large), got)
	for _, name := range []string{"bounded", "long", "fail"} {
		id := u.store(name, []work.EnqueueOption{work.Completion("ends"),
			work.Unique(work.UniqueOptions{Until: work.UntilStarted}), work.Tags("x")})
		ended, err := u.enq.Completions("ends").Next(ctx)
		require.NoError(t, err)
		assert.Equal(t, id, ended.ID)
	}
	u.store("snooze", []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "k"})})
	pooltest.Await(t, u.Spy, func(e event.PeriodicEnqueued) bool { return e.Schedule == "often" })
	var unconfirmed *work.ReplicasError
	_, err = u.enq.With(work.WaitReplicas(1, time.Millisecond)).Enqueue(ctx, "bounded")
	require.ErrorAs(t, err, &unconfirmed)
	_, err = u.enq.EnqueueIn(ctx, "answer", time.Hour, "later")
	require.NoError(t, err)
	require.NoError(t, work.Send(ctx, u.enq, u.store("snooze", nil), "message", "text"))
	f := flow.New("flow-1")
	f.Job("bounded").After(f.Job("answer", "first"))
	f.OnDone("answer", "all done")
	receipt, err := flow.Enqueue(ctx, u.enq, f)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // no outcome is kept for somebody who waits for a member too late
		info, err := flow.Read(ctx, u.enq, receipt.ID)
		return err == nil && info.State == flow.Done
	}, pooltest.Patience, 10*time.Millisecond)
}

// lookAtAll reads everything that there is.
func (u *userOfAll) lookAtAll() {
	t, ctx := u.T, u.Ctx()
	id := u.store("hold", nil)
	pooltest.Await(t, u.Spy, func(e event.JobStarted) bool { return e.ID == id })
	for _, state := range []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead} {
		_, err := u.eyes.Page(ctx, inspect.PageOptions{State: state, Name: "hold"})
		if state != work.StateQueued && state != work.StateRunning {
			_, err = u.eyes.Page(ctx, inspect.PageOptions{State: state, Newest: true})
		}
		require.NoError(t, err, state)
	}
	_, err := u.eyes.Search(ctx, inspect.Selection{Name: "fail"}, inspect.SearchOptions{})
	require.NoError(t, err)
	for what, look := range map[string]func() error{
		"counts":    func() error { _, err := u.eyes.Counts(ctx); return err },
		"queues":    func() error { _, err := u.eyes.Queues(ctx); return err },
		"job":       func() error { _, err := u.eyes.Job(ctx, id); return err },
		"log":       func() error { _, err := u.eyes.Log(ctx, id, 10); return err },
		"workers":   func() error { _, err := u.eyes.Workers(ctx); return err },
		"schedules": func() error { _, err := u.eyes.Schedules(ctx); return err },
		"limits":    func() error { _, err := u.eyes.Limits(ctx); return err },
		"history":   func() error { _, err := u.eyes.History(ctx, inspect.HistoryOptions{}); return err },
		"errors":    func() error { _, err := u.eyes.Errors(ctx, ""); return err },
		"server":    func() error { _, err := u.eyes.Server(ctx); return err },
		"ping":      func() error { _, err := u.hands.Ping(ctx, u.worker()); return err },
		"cpu":       func() error { _, err := u.eyes.ServerCPU(ctx); return err },
	} {
		require.NoError(t, look(), what)
	}
	for line, err := range u.eyes.FollowLog(ctx, id) {
		require.NoError(t, err)
		assert.Equal(t, "a line", line.Message)
		break
	}
	close(u.held)
	pooltest.Await(t, u.Spy, func(e event.JobDone) bool { return e.ID == id })
}

// changeAll does by hand what can be done.
func (u *userOfAll) changeAll() {
	t, ctx := u.T, u.Ctx()
	require.NoError(t, u.hands.PauseAndWait(ctx, "bounded"))
	id := u.store("bounded", nil)
	for what, change := range map[string]func() error{
		"schedule off": func() error { return u.hands.PauseSchedule(ctx, "often") },
		"run now":      func() error { _, err := u.hands.RunScheduleNow(ctx, "often"); return err },
		"limit":        func() error { return u.hands.SetLimit(ctx, "hold", work.Limit{Concurrent: 2}) },
		"args":         func() error { return u.hands.ChangeArgs(ctx, id) },
		"front":        func() error { return u.hands.MoveToFront(ctx, id) },
		"clear":        func() error { return u.hands.ClearErrors(ctx, "fail") },
		"worker":       func() error { return u.hands.PauseWorker(ctx, u.worker()) },
	} {
		require.NoError(t, change(), what)
	}
	require.NoError(t, u.hands.Stall(ctx, id))
	require.NoError(t, u.hands.Resume(ctx, id))
	_, err := u.hands.Cancel(ctx, id)
	require.NoError(t, err)
	require.NoError(t, u.hands.ResetLimit(ctx, "hold"))
	_, err = u.hands.Bulk(ctx, inspect.Selection{State: work.StateDead},
		inspect.ActionRetryNow(inspect.FreshAttempts()), inspect.BulkOptions{})
	require.NoError(t, err)
	_, err = u.hands.Purge(ctx, "fail", inspect.PurgeOptions{})
	require.NoError(t, err)
	require.NoError(t, u.hands.ResumeWorker(ctx, u.worker()))
	require.NoError(t, u.hands.ResumeQueue(ctx, "bounded"))
}

// worker is the id of the pool's worker.
func (u *userOfAll) worker() string {
	return pooltest.Await[event.WorkerStarted](u.T, u.Spy, nil).Worker
}
