package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/wallclock"
)

// dutyVariable is set in the environment of a worker process: it says what it has to do.
const dutyVariable = "WORK_INTEGRATION_DUTY"

// duty is what a worker process is told.
type duty struct {
	Redis       string
	Namespace   string
	Concurrency int
	Clock       time.Duration // how far its own clock is ahead of the true one
	Ticks       bool          // enqueue a tick each second
}

// narrow is how many jobs of that name may run at once.
const narrow = 4

// paired is how many of each key of jobs of that name may run at once.
const paired = 2

// batch is an order to enqueue so many jobs alike, of that many milliseconds each.
type batch struct {
	Label string // what the process reports of each that was acknowledged
	Name  string
	Ms    int
	Many  int
	In    time.Duration
	At    time.Time // by Redis' clock; zero means In
}

// member is what runs in a worker process. It reports on its standard output and obeys its standard input: the line
// "open" opens the gate at which some handlers wait, a batch of jobs in JSON is enqueued, and its end ends the process,
// so that none outlives the test.
type member struct {
	gate chan struct{}
	enq  *work.Enqueuer
}

// serve runs a worker process until it is told to stop, and returns its exit status.
func serve(encoded string) int {
	var d duty
	if err := json.Unmarshal([]byte(encoded), &d); err != nil {
		fmt.Fprintf(os.Stderr, "%s=%s: %v\n", dutyVariable, encoded, err)
		return 2
	}
	wallclock.Shift(d.Clock)
	enq, err := work.NewEnqueuer(d.Redis, work.Namespace(d.Namespace))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := &member{gate: make(chan struct{}), enq: enq}
	go m.obey()
	pool := work.NewWorkerPool(nil, d.Concurrency, work.WorkerOptions{
		Redis: d.Redis, Namespace: d.Namespace, Observers: []work.Observer{work.ObserverFunc(m.observe)},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	pool.Job("hold", m.hold).Job("stubborn", m.stubborn).Job("brief", m.brief).
		Job("laden", m.laden).Job("flaky", m.flaky).Job("deadly", m.deadly).Job("climb", m.climb).
		Job("travel", m.travel).
		Job("counted", m.counted).Job("tick", m.tick).Job("mortal", m.mortal).
		JobWithOptions("narrow", work.JobOptions{Limit: work.Limit{Concurrent: narrow}}, m.brief).
		JobWithOptions("paired", work.JobOptions{PerKey: work.Limit{Concurrent: paired}}, m.brief).
		JobWithOptions("ordered", work.JobOptions{Ordered: true}, m.flaky).
		JobWithOptions("pack", work.JobOptions{Together: together}, m.pack).
		JobWithOptions("parcel", work.JobOptions{Together: togetherByKey}, m.pack)
	if d.Ticks {
		pool.Periodic("@every 1s", "tick")
	}
	if err := pool.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (m *member) obey() {
	lines := bufio.NewReader(os.Stdin)
	for {
		switch line, err := lines.ReadString('\n'); {
		case err != nil:
			os.Exit(3)
		case line == "open\n":
			close(m.gate)
		default:
			m.enqueue(line)
		}
	}
}

// enqueue enqueues a batch one job after the other, and reports when it believes that it is, and the ids.
func (m *member) enqueue(encoded string) {
	var b batch
	if err := json.Unmarshal([]byte(encoded), &b); err != nil {
		fmt.Fprintf(os.Stderr, "order %s: %v\n", encoded, err)
		os.Exit(2)
	}
	write(entry{At: wallclock.Now(), What: believed})
	for range b.Many {
		receipt, err := m.enqueueOne(b)
		if err != nil {
			report(refused, err.Error())
			continue
		}
		report(b.Label, receipt.ID)
	}
}

func (m *member) enqueueOne(b batch) (work.Receipt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !b.At.IsZero() {
		return m.enq.EnqueueAt(ctx, b.Name, b.At, b.Ms)
	}
	return m.enq.EnqueueIn(ctx, b.Name, b.In, b.Ms)
}

// hold waits at the gate, and gives up when its ctx ends.
func (m *member) hold(ctx context.Context, job *work.Job) error {
	report(begun, job.ID)
	select {
	case <-m.gate:
	case <-ctx.Done():
		report(cut, job.ID)
		return context.Cause(ctx)
	}
	report(ended, job.ID)
	return nil
}

// stubborn waits at the gate whatever happens to its ctx.
func (m *member) stubborn(job *work.Job) error {
	report(begun, job.ID)
	<-m.gate
	report(ended, job.ID)
	return nil
}

// brief takes so many milliseconds.
func (m *member) brief(ctx context.Context, job *work.Job, ms int) error {
	report(begun, job.ID)
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-ctx.Done():
		report(cut, job.ID)
		return context.Cause(ctx)
	}
	report(ended, job.ID)
	return nil
}

// counting adds to what a process runs, and keeps the most that all ran at once.
var counting = redis.NewScript(0, `
redis.call('HINCRBY', 'running', ARGV[1], ARGV[2])
local sum = 0
for _, n in ipairs(redis.call('HVALS', 'running')) do sum = sum + n end
if sum > tonumber(redis.call('GET', 'most') or 0) then redis.call('SET', 'most', sum) end`)

// counted is brief, and counts itself in another Redis as long as it runs.
func (m *member) counted(ctx context.Context, job *work.Job, counter string, ms int) error {
	conn, err := redis.Dial("tcp", counter)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := counting.Do(conn, os.Getpid(), 1); err != nil {
		return err
	}
	err = m.brief(ctx, job, ms)
	_, uncounted := counting.Do(conn, os.Getpid(), -1)
	return errors.Join(err, uncounted)
}

// tick is the job of a schedule.
func (m *member) tick(job *work.Job) error {
	report(ticked, job.ID)
	return nil
}

// laden is brief with something to carry.
func (m *member) laden(ctx context.Context, job *work.Job, ms int, _ string) error {
	return m.brief(ctx, job, ms)
}

// flaky fails at its first attempt.
func (m *member) flaky(ctx context.Context, job *work.Job, ms int) error {
	if job.Attempt > 1 {
		return m.brief(ctx, job, ms)
	}
	report(begun, job.ID)
	report(erred, job.ID)
	return work.RetryIn(200*time.Millisecond, errors.New("the first attempt always fails"))
}

// mortal fails for good.
func (m *member) mortal(job *work.Job, _ int) error {
	report(begun, job.ID)
	return work.Bury(errors.New("it always fails"))
}

// deadly ends the process that runs it, as one does that takes all memory.
func (m *member) deadly(job *work.Job) error {
	report(begun, job.ID)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // it cannot fail
	select {}
}

func (m *member) observe(e event.Event) {
	switch e := e.(type) {
	case event.WorkerStarted:
		report(ready, e.Worker)
	case event.WorkerReaped:
		report(reaped, e.Worker)
	case event.WorkerFenced:
		report(fenced, e.Worker)
	case event.ClaimGone:
		report(claimGone, e.ID)
	case event.JobsReturned:
		report(returned, e.Worker)
	case event.DataLost:
		report(dataLost, e.Worker)
	case event.JobBuried:
		report(buried, e.ID)
	}
}

// report writes one line at once: what was written before a kill is read after it.
func report(what, of string) { write(entry{At: time.Now(), What: what, Of: of}) }

func write(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings and a time
	}
	_, _ = os.Stdout.Write(append(line, '\n')) // the test is gone: so is this process, soon
}
