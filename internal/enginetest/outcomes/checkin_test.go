package outcomes_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

// visible waits until Redis shows that check-in of a job, or none if it is empty, and returns its time.
func (k *kit) visible(id, message string) time.Time {
	k.T.Helper()
	key := "worker:" + pooltest.Await[event.WorkerStarted](k.T, k.Spy, nil).Worker + ":running"
	var shown string
	deadline := time.Now().Add(pooltest.Patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		shown = k.Text("HGET", key, id)
		at, said, _ := strings.Cut(shown, " ")
		if said == message && (message != "" || shown == "") {
			ms, _ := strconv.ParseInt(at, 10, 64) // "" is 0
			tick.Stop()
			return time.UnixMilli(ms)
		}
		require.Less(k.T, time.Now(), deadline, "Redis shows %q, not %q", shown, message)
	}
}

func TestACheckinIsVisibleWithinASecondAndGoneAfterTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		say, stopping := make(chan string), make(chan bool)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for message := range say {
				stopping <- job.Checkin(message)
			}
			return nil
		})
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		id := k.Enqueue("long").ID
		for _, message := range []string{"row 1 of 3", "日本 \x00 \n"} {
			say <- message
			assert.False(t, pooltest.Receive(t, stopping))
			before, _ := d.Sent("beat")
			k.Until("the next heartbeat but one", func() bool { now, _ := d.Sent("beat"); return now >= before+3 })
			_, said, _ := strings.Cut(k.Text("HGET", "worker:"+pooltest.WorkerID(pool)+":running", id), " ")
			assert.Equal(t, message, said, "the heartbeat in between has told it")
		}
		close(say)
		k.visible(id, "")
	})
}

func TestACheckinIsBoundedUTF8(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("a", func(job *work.Job, message []byte) error {
			job.Checkin(string(message))
			<-release
			return nil
		}))
		for said, shown := range map[string]string{"a\xffb": "a\uFFFDb",
			strings.Repeat("x", 1<<19): strings.Repeat("x", 1021) + "…"} {
			k.visible(k.Enqueue("a", []byte(said)).ID, shown)
		}
		close(release)
	})
}

func TestTheSameJobAgainShowsItsOwnCheckin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(job *work.Job) error {
			if job.Checkin("attempt " + strconv.Itoa(job.Attempt)); job.Attempt < 5 {
				return work.RetryIn(0, pooltest.ErrLuck) // back within the same second, between two heartbeats
			}
			<-release
			return nil
		}))
		id := k.Enqueue("a").ID
		k.visible(id, "attempt 5")
		close(release)
		k.visible(id, "")
	})
}

func TestCheckinMayBeCalledByManyGoroutines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		kept := make(chan *work.Job, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(job *work.Job) error {
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					for j := range 50 {
						job.Checkin(fmt.Sprint(i, j))
					}
				})
			}
			all.Wait()
			job.Checkin("all of them")
			kept <- job
			<-release
			return nil
		}))
		id := k.Enqueue("a").ID
		k.visible(id, "all of them")
		close(release)
		k.visible(id, "")
		assert.False(t, pooltest.Receive(t, kept).Checkin("after its end"), "harmless")
		k.visible(id, "")
	})
}

func TestCheckinAnswersTrueOnceThePoolStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		answers := make(chan bool, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(job *work.Job) error {
			answers <- job.Checkin("at work")
			for !job.Checkin("at work") {
			}
			return nil
		})
		require.NoError(t, pool.Start(k.Ctx()))
		id := k.Enqueue("a").ID
		assert.False(t, pooltest.Receive(t, answers))
		require.NoError(t, k.Stop(pool))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		worker := pooltest.Await[event.WorkerStarted](t, k.Spy, nil).Worker
		assert.Zero(t, k.Number("EXISTS", "worker:"+worker+":running"))
	})
}

func TestAJobThatNoPoolRunsChecksInToNobody(t *testing.T) {
	t.Parallel()
	assert.False(t, (&work.Job{ID: "by hand"}).Checkin("hello"))
}

func TestEachCheckinAndProgressIsAnEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			job.Checkin("row 1")
			job.Checkin(strings.Repeat("x", 1<<19))
			assert.NoError(t, job.Progress(map[string]int{"done": 1}))
			assert.Error(t, job.Progress(func() {}), "it is not told")
			job.Checkin("")
			return nil
		}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		var said []event.JobCheckedIn
		for _, e := range pooltest.SeenBy(t, k.Spy, id) {
			if e, ok := e.(event.JobCheckedIn); ok {
				assert.False(t, e.Begun.IsZero())
				said = append(said, event.JobCheckedIn{Message: e.Message, Progress: e.Progress})
			}
		}
		assert.Equal(t, []event.JobCheckedIn{
			{Message: "row 1"}, {Message: strings.Repeat("x", 1021) + "…"}, {Progress: json.RawMessage(`{"done":1}`)},
			{},
		}, said)
	})
}

// told waits until Redis shows that message and progress of a job.
func (k *kit) told(id, message, progress string) {
	k.T.Helper()
	key := "worker:" + pooltest.Await[event.WorkerStarted](k.T, k.Spy, nil).Worker + ":running"
	k.Until(message+" "+progress, func() bool {
		_, text, _ := strings.Cut(k.Text("HGET", key, id), " ")
		said, value := record.DecodeCheckin(text)
		return said == message && string(value) == progress
	})
}

func TestProgressIsVisibleBesideTheMessage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		steps := make(chan func(*work.Job))
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(job *work.Job) error {
			for step := range steps {
				step(job)
			}
			return nil
		}))
		id := k.Enqueue("long").ID
		step := func(do func(*work.Job)) { steps <- do }
		step(func(job *work.Job) { assert.NoError(t, job.Progress(map[string]any{"done": 1, "of": "\x00ü"})) })
		k.told(id, "", `{"done":1,"of":"\u0000ü"}`)
		step(func(job *work.Job) { job.Checkin("half\x00 of it") })
		k.told(id, "half\x00 of it", `{"done":1,"of":"\u0000ü"}`)
		step(func(job *work.Job) { assert.NoError(t, job.Progress(0.75)) })
		k.told(id, "half\x00 of it", "0.75")
		var invalid *work.InvalidError
		step(func(job *work.Job) { assert.ErrorAs(t, job.Progress(strings.Repeat("x", 4<<10)), &invalid) })
		step(func(job *work.Job) { assert.ErrorContains(t, job.Progress(make(chan int)), "unsupported type") })
		step(func(job *work.Job) { job.Checkin("") })
		k.told(id, "", "0.75")
		close(steps)
		k.visible(id, "")
	})
}
