package doctor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// rounds counts how often each job began, and says when all have ended well.
type rounds struct {
	mu    sync.Mutex
	began map[string]int
	ended int
	all   chan struct{}
	want  int
}

func (r *rounds) handle(job *work.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began[job.ID]++
	if job.SourceID > 0 && r.began[job.ID] <= int(job.SourceID) { // it fails as often as its source says
		return work.RetryIn(100*time.Millisecond, errors.New("not yet"))
	}
	if r.ended++; r.ended == r.want {
		close(r.all)
	}
	return nil
}

// While pools run, nothing that moves may be taken for damage, and a repair must not touch it.
func TestDoctorFindsNothingWhileJobsMove(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]bool{"looking": false, "mending": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) { examineBusy(t, s, repair) })
		})
	}
}

func examineBusy(t *testing.T, s redistest.Server, repair bool) {
	k := newKit(t, s)
	const batch = 200
	jobs := 8000
	if s.Embedded() != nil {
		jobs = 2000 // it compiles a script each time that it is called
	}
	r := &rounds{began: map[string]int{}, all: make(chan struct{}), want: jobs}
	var pools []*work.WorkerPool
	for range 2 {
		pool := work.NewWorkerPool(nil, 10, k.Options())
		for n := range 5 {
			pool.JobWithOptions(fmt.Sprint("q", n), work.JobOptions{Retention: time.Minute}, r.handle)
		}
		pools = append(pools, k.Start(pool))
	}
	fed := make(chan error, 1)
	go func() { fed <- feed(k, jobs, batch) }()

	doctor := inspect.Of(pools[0])
	examined := 0
	for done := false; !done; examined++ {
		select {
		case <-r.all:
			done = true
		default:
		}
		d, err := Examine(k.Ctx(), doctor, Options{Repair: repair})
		require.NoError(t, err)
		require.Empty(t, d.Findings)
	}
	require.NoError(t, <-fed)
	assert.Greater(t, examined, 1)
	for _, pool := range pools {
		require.NoError(t, pool.Drain(k.Ctx()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	assert.Len(t, r.began, jobs)
	for id, times := range r.began {
		want := 1
		if id[0] == 'r' {
			want = 2
		}
		assert.Equal(t, want, times, id)
	}
}

// feed enqueues jobs that succeed, fail once, or are for later.
func feed(k *kit, jobs, batch int) error {
	for from := 0; from < jobs; from += batch {
		entries := make([]work.Entry, batch)
		for i := range entries {
			n := from + i
			entries[i] = work.Entry{Name: fmt.Sprint("q", n%5),
				Options: []work.EnqueueOption{work.ID(fmt.Sprint("j", n))}}
			switch n % 10 {
			case 3:
				entries[i].Source, entries[i].Options = 1, []work.EnqueueOption{work.ID(fmt.Sprint("r", n))}
			case 7:
				entries[i].In = time.Duration(n%300+1) * time.Millisecond
			}
		}
		if _, err := k.Enq.EnqueueMany(context.Background(), entries); err != nil {
			return err
		}
	}
	return nil
}

// Ids far from the ends of a queue are out of a script's reach; whether a job is there the doctor finds out by walking.
func TestDoctorOfALongQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		entries := make([]work.Entry, 1500)
		for i := range entries {
			entries[i] = work.Entry{Name: "b", Options: []work.EnqueueOption{work.ID(fmt.Sprint("b", i))}}
		}
		_, err := w.Enq.EnqueueMany(w.Ctx(), entries)
		require.NoError(t, err)
		w.Do("LREM", "queue:b", 0, "b700")
		for _, repair := range []bool{false, true} {
			d := w.examineWithin(100, repair)
			require.Len(t, d.Findings, 1, "%+v", d.Findings)
			assert.Equal(t, CheckLostJob, d.Findings[0].Check)
			assert.Equal(t, "b700", d.Findings[0].ID)
		}
		assert.Equal(t, []string{"b700"}, w.strings("LRANGE", "queue:b", -1, -1), "it is at the front")
		assert.Empty(t, w.examineWithin(100, false).Findings)

		w.Do("HDEL", "jobs", "b800")
		d := w.examineWithin(100, true)
		require.Len(t, d.Findings, 1)
		assert.Equal(t, SeverityWarning, d.Findings[0].Severity)
		assert.False(t, d.Findings[0].Repaired, "the fetch will drop it")
		assert.True(t, d.Healthy())
		assert.Len(t, w.run(), len(entries)-1+len(allJobs))
	})
}

// A job that a walk did not meet may have come since: then it is not lost.
func TestRecallLooksForWhatItCannotSee(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		record, err := w.store.Record(w.Ctx(), "wait2")
		require.NoError(t, err)
		d := newDoctor(w.doctor, Options{Patience: soon, Repair: true})
		d.mend.Reach = 1
		job := rdb.LostJob{Named: rdb.Named{ID: "wait2", Queue: "a"}, Digest: rdb.Digest(record)}
		require.NoError(t, d.requeueLost(w.Ctx(), lostJobs{"wait2": job}))
		assert.Empty(t, d.diagnosis.Findings)
		assert.Len(t, w.strings("LRANGE", "queue:a", 0, -1), 3)
	})
}

func (w *ward) examineWithin(reach int, repair bool) *Diagnosis {
	w.T.Helper()
	d := newDoctor(w.doctor, Options{Patience: soon, Repair: repair})
	d.look.Reach, d.mend.Reach = reach, reach
	require.NoError(w.T, d.examine(w.Ctx()))
	w.answered(d.diagnosis)
	return d.diagnosis
}
