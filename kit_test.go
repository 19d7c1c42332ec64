package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// kit is what tests outside of the package share.
type kit struct{ *pooltest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{pooltest.NewKit(t, s)} }

// inspector looks into the namespace of the kit.
func (k *kit) inspector() *inspect.Inspector {
	k.T.Helper()
	i, err := inspect.New(k.Server.DSN(), work.Namespace(k.Namespace))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { require.NoError(k.T, i.Close()) })
	return i
}

// messages are those of a job's log.
func (k *kit) messages(id string) []string {
	k.T.Helper()
	lines, err := k.inspector().Log(k.Ctx(), id, 0)
	require.NoError(k.T, err)
	messages := make([]string, len(lines))
	for i, line := range lines {
		messages[i] = line.Message
	}
	return messages
}

// left are the logs and states in the namespace.
func (k *kit) left() []string {
	k.T.Helper()
	return append(k.Remains(":log:"), k.Remains(":state:")...)
}

// noTrouble checks that nothing was reported but what took too long: a heartbeat may, on a machine that stalls.
func (k *kit) noTrouble(t *testing.T) {
	t.Helper()
	for _, e := range pooltest.Seen[event.Trouble](k.Spy) {
		var slow net.Error
		if !errors.Is(e.Err, context.DeadlineExceeded) && (!errors.As(e.Err, &slow) || !slow.Timeout()) {
			assert.Fail(t, "there was trouble", "%+v", e)
		}
	}
	assert.Empty(t, pooltest.Seen[event.LoopPanicked](k.Spy))
}

// seenBy returns the events of the spy without their times, for those of one job.
func seenBy(t *testing.T, s *pooltest.Spy, id string) []event.Event {
	t.Helper()
	var seen []event.Event
	events, _ := s.All()
	for _, e := range events {
		if of, ok := e.(interface{ Ref() event.JobRef }); ok && of.Ref().ID == id {
			seen = append(seen, e)
		}
	}
	return seen
}

// duration is a wait that began within the test.
func (k *kit) duration(began time.Time, shelf, id string, wanted time.Duration) {
	k.T.Helper()
	due := k.Due(shelf, id)
	assert.WithinRange(k.T, due, began.Add(wanted-2*time.Millisecond), time.Now().Add(wanted+2*time.Millisecond))
}

// holding starts a pool whose jobs of one name block until their ctx ends, and returns it once it holds so many.
func (k *kit) holding(t *testing.T, name string, jobs int) *work.WorkerPool {
	t.Helper()
	started := make(chan string, jobs)
	pool := k.Start(work.NewWorkerPool(nil, jobs, k.Another(pooltest.NewSpy())).
		Job(name, func(ctx context.Context, job *work.Job, _ int) error {
			started <- job.ID
			<-ctx.Done()
			return ctx.Err()
		}))
	for range jobs {
		pooltest.Receive(t, started)
	}
	return pool
}

// stateIn is what stands in Redis as the state of a job.
func (k *kit) stateIn(id string) string {
	k.T.Helper()
	var saved struct{ State json.RawMessage }
	text := k.Text("GET", "state:"+id)
	if text == "" {
		return ""
	}
	require.NoError(k.T, json.Unmarshal([]byte(text), &saved))
	return string(saved.State)
}

// loseReplies makes the pool lose the first reply of each script of that name, after Redis has executed it.
func (k *kit) loseReplies(pool *work.WorkerPool, script string, calls func(sent int) bool) {
	k.T.Helper()
	sent := 0
	gate := make(chan struct{}, 1)
	k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
		ctx context.Context, pass pooltest.Send, batch []redisconn.Call,
	) ([]redisconn.Reply, error) {
		replies, err := pass(ctx, batch...)
		if pooltest.NameOf(batch[0]) != script {
			return replies, err
		}
		gate <- struct{}{}
		defer func() { <-gate }()
		if sent++; calls(sent) {
			return nil, pooltest.ErrLuck
		}
		return replies, err
	}})
}

// lastTick has Redis believe that a schedule has moved on up to then.
func (k *kit) lastTick(id string, at time.Time) {
	k.T.Helper()
	k.Do("HSET", "ticks", id, rdbEntry(at, ""))
}

// troubles are what was reported, but for what took too long: a heartbeat may, on a machine that stalls.
func troubles(s *pooltest.Spy) (all []event.Trouble) {
	for _, e := range pooltest.Seen[event.Trouble](s) {
		var slow net.Error
		if !errors.Is(e.Err, context.DeadlineExceeded) && (!errors.As(e.Err, &slow) || !slow.Timeout()) {
			all = append(all, e)
		}
	}
	return all
}

func rdbEntry(at time.Time, job string) string {
	text, _ := json.Marshal(at.UnixMilli())
	return string(text) + " " + job
}

func nothing() error { return nil }

// byHand is what an operator does by hand, or looks at, in the words of the tests.
type byHand struct{ *inspect.Inspector }

func (b byHand) Retry(ctx context.Context, id string) error { return b.RetryNow(ctx, id) }

func (b byHand) PurgeAll(ctx context.Context, name string) error {
	_, err := b.Purge(ctx, name, inspect.PurgeOptions{})
	return err
}

func (b byHand) Declared(ctx context.Context) (map[string]work.Limit, error) {
	limits, err := b.Limits(ctx)
	declared := map[string]work.Limit{}
	for _, l := range limits {
		declared[l.Name] = l.Declared
	}
	return declared, err
}

func (b byHand) SeenSchedules(ctx context.Context) (seen []SeenSchedule, err error) {
	all, err := b.Schedules(ctx)
	for _, one := range all {
		seen = append(seen, SeenSchedule(one))
	}
	return seen, err
}

func (b byHand) Messages(ctx context.Context, id string) (messages []string, err error) {
	lines, err := b.Log(ctx, id, 0)
	for _, line := range lines {
		messages = append(messages, line.Message)
	}
	return messages, err
}

func (b byHand) Lines(ctx context.Context, id string) (lines []SeenLine, err error) {
	log, err := b.Log(ctx, id, 0)
	for _, line := range log {
		lines = append(lines, SeenLine{Time: line.Time, Message: line.Message, Attrs: line.Attrs})
	}
	return lines, err
}

func (b byHand) Sums(ctx context.Context, by time.Duration, names ...string) (map[string]SeenSums, error) {
	history, err := b.History(ctx, inspect.HistoryOptions{Names: names, By: by})
	sums := map[string]SeenSums{}
	for name, points := range history {
		var all SeenSums
		for _, p := range points {
			all.Done, all.Failed, all.Dead = all.Done+p.Done, all.Failed+p.Failed, all.Dead+p.Dead
			all.Run, all.Waited = all.Run+p.Run.Count(), all.Waited+p.Waited.Count()
		}
		sums[name] = all
	}
	return sums, err
}

func (b byHand) ErrorDigests(ctx context.Context, name string) (digests []string, counts []int64, err error) {
	groups, err := b.Errors(ctx, name)
	for _, g := range groups {
		digests, counts = append(digests, g.Digest), append(counts, g.Count)
	}
	return digests, counts, err
}

func (b byHand) Served(ctx context.Context) (served [][]string, err error) {
	workers, err := b.Workers(ctx)
	for _, w := range workers {
		if w.Alive {
			served = append(served, w.Queues)
		}
	}
	return served, err
}

func (b byHand) Findings(ctx context.Context, patience time.Duration) ([]SeenFinding, error) {
	return b.examine(ctx, doctor.Options{Patience: patience})
}

func (b byHand) Repairs(ctx context.Context, patience time.Duration) ([]SeenFinding, error) {
	return b.examine(ctx, doctor.Options{Patience: patience, Repair: true})
}

func (b byHand) examine(ctx context.Context, opts doctor.Options) (found []SeenFinding, err error) {
	diagnosis, err := doctor.Examine(ctx, b.Inspector, opts)
	for _, f := range diagnosis.Findings {
		found = append(found, SeenFinding{Check: string(f.Check), ID: f.ID, Queue: f.Queue,
			Text: fmt.Sprintf("%+v", f), Repaired: f.Repaired})
	}
	return found, err
}

func (b byHand) Told(ctx context.Context, ids ...string) (string, error) {
	told := ""
	for _, id := range ids {
		info, err := b.Job(ctx, id)
		if err != nil {
			return "", err
		}
		if info.State != work.StateDead || info.Reason == "" {
			return "", errors.New(id + " is not dead, or nothing says why")
		}
		info.Args = nil
		told += fmt.Sprintf("%+v\n", *info)
	}
	groups, err := b.Errors(ctx, "")
	if err != nil {
		return "", err
	}
	diagnosis, err := doctor.Examine(ctx, b.Inspector, doctor.Options{})
	return told + fmt.Sprintf("%+v\n%+v", groups, diagnosis.Findings), err
}

func (b byHand) ReadAll(ctx context.Context, what string, names []string) (err error) {
	switch what {
	case "queues":
		_, err = b.Queues(ctx)
	case "limits":
		_, err = b.Limits(ctx)
	case "workers":
		_, err = b.Workers(ctx)
	case "history":
		_, err = b.History(ctx, inspect.HistoryOptions{Names: names, Since: time.Now().Add(-time.Minute)})
	default:
		err = errors.New("what is " + what)
	}
	return err
}

// SeenSchedule is a schedule as it is in Redis.
type SeenSchedule struct {
	ID, Spec, Name string
	Args           json.RawMessage
	Options        work.PeriodicOptions
	Service        string
	Paused         bool
	Last           time.Time
	LastJob        string
	Next           time.Time
	Problem        error
}

// SeenLine is a line of a log.
type SeenLine struct {
	Time    time.Time
	Message string
	Attrs   json.RawMessage
}

// SeenSums is what became of the jobs of a name.
type SeenSums struct{ Done, Failed, Dead, Run, Waited int64 }

// SeenFinding is what the doctor found.
type SeenFinding struct {
	Check, ID, Queue, Text string
	Repaired               bool
}

// byHand does by hand what a test wants in the namespace of the kit.
func (k *kit) byHand() byHand { return byHand{k.inspector()} }

// handsOn is byHand on a driver of the test.
func (k *kit) handsOn(driver redisconn.Driver) byHand {
	k.T.Helper()
	i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: driver}), work.Namespace(k.Namespace))
	require.NoError(k.T, err)
	return byHand{i}
}

// schedules are all of the namespace, by id.
func (k *kit) schedules() map[string]SeenSchedule {
	k.T.Helper()
	list, err := k.byHand().SeenSchedules(k.Ctx())
	require.NoError(k.T, err)
	all := map[string]SeenSchedule{}
	for _, one := range list {
		all[one.ID] = one
	}
	return all
}
