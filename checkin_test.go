package work

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// visible waits until Redis shows that check-in of a job, or none if it is empty, and returns its time.
func (k *kit) visible(id, message string) time.Time {
	k.t.Helper()
	key := "worker:" + await[event.WorkerStarted](k.t, k.spy, nil).Worker + ":running"
	var shown string
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		shown = k.text("HGET", key, id)
		at, said, _ := strings.Cut(shown, " ")
		if said == message && (message != "" || shown == "") {
			ms, _ := strconv.ParseInt(at, 10, 64) // "" is 0
			tick.Stop()
			return time.UnixMilli(ms)
		}
		require.Less(k.t, time.Now(), deadline, "Redis shows %q, not %q", shown, message)
	}
}

func TestACheckinIsVisibleWithinASecondAndGoneAfterTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		say, stopping := make(chan string), make(chan bool)
		pool := NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			for message := range say {
				stopping <- job.Checkin(message)
			}
			return nil
		})
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		id := k.enqueue("long").ID
		for _, message := range []string{"row 1 of 3", "日本 \x00 \n"} {
			say <- message
			assert.False(t, receive(t, stopping))
			before, _ := d.sent("beat")
			k.until("the next heartbeat but one", func() bool { now, _ := d.sent("beat"); return now >= before+3 })
			_, said, _ := strings.Cut(k.text("HGET", "worker:"+pool.id()+":running", id), " ")
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
		k.start(NewWorkerPool(nil, 2, k.options()).Job("a", func(job *Job, message []byte) error {
			job.Checkin(string(message))
			<-release
			return nil
		}))
		for said, shown := range map[string]string{"a\xffb": "a\uFFFDb",
			strings.Repeat("x", 1<<19): strings.Repeat("x", 1021) + "…"} {
			k.visible(k.enqueue("a", []byte(said)).ID, shown)
		}
		close(release)
	})
}

func TestTheSameJobAgainShowsItsOwnCheckin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error {
			if job.Checkin("attempt " + strconv.Itoa(job.Attempt)); job.Attempt < 5 {
				return RetryIn(0, errLuck) // back within the same second, between two heartbeats
			}
			<-release
			return nil
		}))
		id := k.enqueue("a").ID
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
		kept := make(chan *Job, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error {
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
		id := k.enqueue("a").ID
		k.visible(id, "all of them")
		close(release)
		k.visible(id, "")
		assert.False(t, receive(t, kept).Checkin("after its end"), "harmless")
		k.visible(id, "")
	})
}

func TestCheckinAnswersTrueOnceThePoolStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		answers := make(chan bool, 1)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error {
			answers <- job.Checkin("at work")
			for !job.Checkin("at work") {
			}
			return nil
		})
		require.NoError(t, pool.Start(k.ctx()))
		id := k.enqueue("a").ID
		assert.False(t, receive(t, answers))
		require.NoError(t, k.stop(pool))
		await(t, k.spy, ofJob[event.JobDone](id))
		worker := await[event.WorkerStarted](t, k.spy, nil).Worker
		assert.Zero(t, k.number("EXISTS", "worker:"+worker+":running"))
	})
}

func TestAJobThatNoPoolRunsChecksInToNobody(t *testing.T) {
	t.Parallel()
	assert.False(t, (&Job{ID: "by hand"}).Checkin("hello"))
}
