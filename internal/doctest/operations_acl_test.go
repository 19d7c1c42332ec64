package doctest_test

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// aclRules are the rules that docs/operations.md gives to a user of workers, and those that it adds for the doctor.
func aclRules(t *testing.T) (workers, doctor []string) {
	t.Helper()
	page, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^redis-cli ACL SETUSER shop ((?:.*\\\n)*.*)$`).
		FindAllStringSubmatch(string(page), -1)
	require.Len(t, lines, 2, "one for workers and one that adds what the doctor needs")
	words := func(text string) []string {
		return strings.Fields(strings.NewReplacer("\\\n", " ", "'", "").Replace(text))
	}
	return words(lines[0][1]), words(lines[1][1])
}

// TestTheUserOfWorkersMayDoWhatTheScriptsDo compares the rules of the page with the commands in lua/ and internal/rdb.
func TestTheUserOfWorkersMayDoWhatTheScriptsDo(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	conn, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer conn.Close()
	known, err := redis.Strings(conn.Do("COMMAND", "LIST"))
	if err != nil {
		t.Skip("this Redis has no COMMAND LIST:", err)
	}

	want := map[string]bool{"select": true} // which redigo sends for a database that is not 0
	for _, word := range append(commandsOfScripts(t), commandsOfPrograms(t)...) {
		want[word] = true
	}
	maps.DeleteFunc(want, func(word string, _ bool) bool { return !slices.Contains(known, word) })
	delete(want, "readonly")   // an error's code, not sent
	delete(want, "psubscribe") // only for the package thoonk

	workers, doctor := aclRules(t)
	var given []string
	for _, rule := range append(workers, doctor...) {
		if name, is := strings.CutPrefix(rule, "+"); is {
			given = append(given, name)
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(given)))
}

// commandsOfScripts are what scripts call; a call may choose between two.
func commandsOfScripts(t *testing.T) (commands []string) {
	t.Helper()
	files, err := filepath.Glob("lua/*/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	files = slices.DeleteFunc(append(files, "lua/prelude.lua"), func(file string) bool {
		return slices.Contains([]string{"lua/thoonk", "lua/recurring", "lua/worqr"}, filepath.Dir(file))
	})
	call, name := regexp.MustCompile(`p?call\(([^,)]*)`), regexp.MustCompile(`'([A-Z]+)'`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		text, _, ofFeeds := bytes.Cut(text, []byte("\n-- What follows is about feeds"))
		require.Equal(t, file == "lua/prelude.lua", ofFeeds, file)
		for _, found := range call.FindAllStringSubmatch(string(text), -1) {
			for _, word := range name.FindAllStringSubmatch(found[1], -1) {
				commands = append(commands, strings.ToLower(word[1]))
			}
		}
	}
	return commands
}

// commandsOfPrograms are the words in capitals of internal/rdb, more than its commands.
func commandsOfPrograms(t *testing.T) (words []string) {
	t.Helper()
	files, err := filepath.Glob("internal/rdb/*.go")
	require.NoError(t, err)
	beside, err := filepath.Glob("internal/redisconn/*.go")
	require.NoError(t, err)
	files = append(files, beside...)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				word, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				if word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
					words = append(words, strings.ToLower(word))
				}
			}
			return true
		})
	}
	return words
}

// TestTheUserOfWorkersIsEnough runs a pool, an enqueuer and an inspector as the user of the page, on a database that is
// not 0. Redis notes whatever it refuses them, so that a refusal that nobody reports shows as well.
func TestTheUserOfWorkersIsEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	k := newKit(t, server.Server())
	admin, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer admin.Close()
	allow := func(rules []string) {
		args := []any{"SETUSER", "shop"}
		for _, rule := range rules {
			args = append(args, strings.ReplaceAll(strings.ReplaceAll(rule, "{shop}", "{"+k.Namespace+"}"), ">PASSWORD",
				">secret"))
		}
		_, err := admin.Do("ACL", args...)
		require.NoError(t, err)
	}
	refusals := func() []any {
		log, err := redis.Values(admin.Do("ACL", "LOG"))
		require.NoError(t, err)
		return log
	}
	workers, more := aclRules(t)
	allow(workers)
	options := k.Options()
	options.Redis, options.Connection = "redis://shop:secret@"+server.Addr()+"/1", nil

	u := newUserOfAll(t, k, options)
	u.runJobs()
	u.lookAtAll()
	u.changeAll()
	assert.Empty(t, refusals())
	k.NoTrouble(t)

	_, err = doctor.Examine(k.Ctx(), u.hands, doctor.Options{})
	require.ErrorContains(t, err, "NOPERM")
	require.NotEmpty(t, refusals(), "what is refused shows there")
	_, err = admin.Do("ACL", "LOG", "RESET")
	require.NoError(t, err)
	allow(more)
	found, err := doctor.Examine(k.Ctx(), u.hands, doctor.Options{Repair: true})
	require.NoError(t, err)
	assert.Empty(t, found.Findings)
	require.NoError(t, u.pool.Stop(k.Ctx()))
	_, err = u.hands.Erase(k.Ctx())
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
	hands *inspect.Inspector
	held  chan struct{} // closed to let jobs of "hold" end
}

func newUserOfAll(t *testing.T, k *kit, options work.WorkerOptions) *userOfAll {
	t.Helper()
	u := &userOfAll{kit: k, held: make(chan struct{})}
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
	u.enq, err = work.NewEnqueuer(options.Redis, work.Namespace(k.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.enq.Close() })
	u.hands, err = inspect.New(options.Redis, work.Namespace(k.Namespace))
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
}

// lookAtAll reads everything that there is.
func (u *userOfAll) lookAtAll() {
	t, ctx := u.T, u.Ctx()
	id := u.store("hold", nil)
	pooltest.Await(t, u.Spy, func(e event.JobStarted) bool { return e.ID == id })
	for _, state := range []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead} {
		_, err := u.hands.Page(ctx, inspect.PageOptions{State: state, Name: "hold"})
		if state != work.StateQueued && state != work.StateRunning {
			_, err = u.hands.Page(ctx, inspect.PageOptions{State: state, Newest: true})
		}
		require.NoError(t, err, state)
	}
	_, err := u.hands.Search(ctx, inspect.Selection{Name: "fail"}, inspect.SearchOptions{})
	require.NoError(t, err)
	for what, look := range map[string]func() error{
		"counts":    func() error { _, err := u.hands.Counts(ctx); return err },
		"queues":    func() error { _, err := u.hands.Queues(ctx); return err },
		"job":       func() error { _, err := u.hands.Job(ctx, id); return err },
		"log":       func() error { _, err := u.hands.Log(ctx, id, 10); return err },
		"workers":   func() error { _, err := u.hands.Workers(ctx); return err },
		"schedules": func() error { _, err := u.hands.Schedules(ctx); return err },
		"limits":    func() error { _, err := u.hands.Limits(ctx); return err },
		"history":   func() error { _, err := u.hands.History(ctx, inspect.HistoryOptions{}); return err },
		"errors":    func() error { _, err := u.hands.Errors(ctx, ""); return err },
		"server":    func() error { _, err := u.hands.Server(ctx); return err },
		"ping":      func() error { _, err := u.hands.Ping(ctx, u.worker()); return err },
		"cpu":       func() error { _, err := u.hands.ServerCPU(ctx); return err },
	} {
		require.NoError(t, look(), what)
	}
	for line, err := range u.hands.FollowLog(ctx, id) {
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
