package crash

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// simulation is a fleet whose workers are killed, in a time of its own: what release.lua notes of that is judged by
// Record. Times are in ms.
type simulation struct {
	workers, slots int
	jobs           int
	long           float64 // how long most jobs run
	kills          int     // of workers, by chance, while the jobs are under way
	poison         float64 // after how long of its own the poison kills its worker; 0: there is none
	together       bool    // whenever the poison kills one, all workers are restarted

	random  *rand.Rand
	now     float64
	events  simulated
	queue   []*simulatedJob
	fleet   []*simulatedWorker
	deaths  []float64
	left    int
	between float64 // kills

	buried, before []*simulatedJob // before: by the rule that three are enough
	deadly         *simulatedJob
}

type simulatedJob struct {
	number   int
	words    []string // of crashes
	duration float64
	poison   bool
	counted  bool // among those that three would have been enough for
}

type simulatedWorker struct {
	id      int
	runs    map[*simulatedJob]float64 // since when
	suspect *simulatedJob
	beat    float64 // offset of its heartbeats within a second
}

type simulatedEvent struct {
	at float64
	do func()
}

type simulated []simulatedEvent

func (s simulated) Len() int           { return len(s) }
func (s simulated) Less(i, j int) bool { return s[i].at < s[j].at }
func (s simulated) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *simulated) Push(e any)        { *s = append(*s, e.(simulatedEvent)) }
func (s *simulated) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	*s = (*s)[:last]
	return e
}

func (s *simulation) after(ms float64, do func()) {
	heap.Push(&s.events, simulatedEvent{s.now + ms, do})
}

func (s *simulation) run(seed uint64) {
	s.random, s.left = rand.New(rand.NewPCG(seed, 1)), s.jobs
	for number := range s.jobs {
		job := &simulatedJob{number: number, duration: s.long}
		if s.random.IntN(10) == 0 {
			job.duration = s.long / 100
		}
		s.queue = append(s.queue, job)
	}
	if s.poison > 0 {
		s.deadly = &simulatedJob{number: -1, poison: true, duration: 1e9}
		s.queue = append([]*simulatedJob{s.deadly}, s.queue...)
		s.left++
	}
	for range s.workers {
		s.join()
	}
	s.between = float64(s.jobs) * s.long / float64(s.workers*s.slots) / float64(max(1, s.kills))
	if s.kills > 0 {
		s.after(s.random.Float64()*2*s.between, s.killOne)
	}
	for s.left > 0 && len(s.events) > 0 {
		e := heap.Pop(&s.events).(simulatedEvent)
		s.now = e.at
		e.do()
	}
}

// join starts a worker.
func (s *simulation) join() {
	s.fleet = append(s.fleet, &simulatedWorker{id: s.random.IntN(1 << 40), runs: map[*simulatedJob]float64{},
		beat: s.random.Float64() * 1000})
	s.fetch()
}

// fetch begins what can begin.
func (s *simulation) fetch() {
	for _, w := range s.fleet {
		for len(w.runs) < s.slots && len(s.queue) > 0 {
			job := s.queue[0]
			s.queue = s.queue[1:]
			s.begin(w, job)
		}
	}
}

func (s *simulation) begin(w *simulatedWorker, job *simulatedJob) {
	record := Read(strings.Join(job.words, " "))
	if len(record.counted) >= DefaultMost && !job.counted {
		job.counted = true
		s.before = append(s.before, job)
	}
	if record.ShouldBury(DefaultMost) {
		s.buried, s.left = append(s.buried, job), s.left-1
		return
	}
	if len(record.counted) >= SuspectAfter {
		if w.suspect != nil {
			wait := MinWait + time.Duration(s.random.Int64N(int64(MaxWait-MinWait)))
			s.after(float64(wait.Milliseconds()), func() { s.queue = append(s.queue, job); s.fetch() })
			return
		}
		w.suspect = job
	}
	since := s.now
	w.runs[job] = since
	still := func() bool { at, runs := w.runs[job]; return runs && at == since }
	if job.poison {
		s.after(s.poison, func() {
			if still() {
				s.kill(w)
				for s.together && len(s.fleet) > 0 {
					s.kill(s.fleet[0])
				}
			}
		})
		return
	}
	s.after(job.duration, func() {
		if still() {
			delete(w.runs, job)
			if w.suspect == job {
				w.suspect = nil
			}
			job.words, s.left = nil, s.left-1
			s.fetch()
		}
	})
}

// killOne kills any worker, and later the next one.
func (s *simulation) killOne() {
	if len(s.fleet) > 0 {
		s.kill(s.fleet[s.random.IntN(len(s.fleet))])
	}
	if s.kills--; s.kills > 0 {
		s.after(s.random.ExpFloat64()*s.between, s.killOne)
	}
}

// kill ends a worker: another one comes a second later, and the others find it dead after its heartbeat has lapsed.
func (s *simulation) kill(w *simulatedWorker) {
	for i, other := range s.fleet {
		if other == w {
			s.fleet = append(s.fleet[:i:i], s.fleet[i+1:]...)
		}
	}
	held := w.runs
	w.runs = map[*simulatedJob]float64{}
	s.after(1000, s.join)
	last := float64(int((s.now-w.beat)/1000))*1000 + w.beat
	s.after(last+3000+1000+s.random.Float64()*1200-s.now, func() {
		died := last + 500
		s.deaths = append(s.deaths, died)
		report := ""
		for _, window := range crashWindows {
			n := 0
			for _, at := range s.deaths {
				if at >= died-window {
					n++
				}
			}
			report += fmt.Sprint(":", n)
		}
		var back []*simulatedJob
		times := map[*simulatedJob]int{}
		for job := range held {
			times[job] = len(job.words)
		}
		for _, job := range s.anyOrder(held) {
			since, share := held[job], 0.0
			for _, of := range times {
				if of >= times[job] {
					share++
				}
			}
			job.words = append(job.words,
				fmt.Sprintf("w%d@%.0f:%.0f%s:%d:1", w.id, died, min(share, 5)*max(died-since, 100), report,
					len(s.fleet)))
			back = append(back, job)
		}
		s.queue = append(back, s.queue...)
		s.fetch()
	})
}

// anyOrder is an order by chance, the same for the same seed.
func (s *simulation) anyOrder(held map[*simulatedJob]float64) []*simulatedJob {
	jobs := slices.SortedFunc(maps.Keys(held), func(a, b *simulatedJob) int { return cmp.Compare(a.number, b.number) })
	s.random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	return jobs
}

// TestInnocentJobsOutliveKills: what is buried for its crashes is worse than chance, however many jobs there are to be
// unlucky.
func TestInnocentJobsOutliveKills(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it reckons, in one goroutine")
	innocent, seeds := 0, uint64(1)
	if os.Getenv("WORK_CRASHES_LONG") != "" {
		seeds = 40
	}
	for _, fleet := range []simulation{
		{workers: 3, slots: 120, jobs: 200_000, long: 1500, kills: 50},
		{workers: 1, slots: 200, jobs: 200_000, long: 1500, kills: 50},
		{workers: 20, slots: 20, jobs: 200_000, long: 1500, kills: 200},
		{workers: 4, slots: 100, jobs: 20_000, long: 8000, kills: 50},
	} {
		t.Run(fmt.Sprintf("%d workers, %d kills, jobs of %.1f s", fleet.workers, fleet.kills, fleet.long/1000),
			func(t *testing.T) {
				for seed := range seeds {
					s := fleet
					s.run(seed)
					assert.Empty(t, s.buried, seed)
					innocent += len(s.before)
				}
			})
	}
	assert.Greater(t, innocent, 3, "three crashes alone would have buried some")
	t.Logf("three crashes alone would have buried %d innocent jobs", innocent)
}

// TestADeadlyJobIsBuriedSoon after three crashes where nothing else kills workers, and after a few more where much
// does.
func TestADeadlyJobIsBuriedSoon(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it reckons, in one goroutine")
	seeds := uint64(20)
	if os.Getenv("WORK_CRASHES_LONG") != "" {
		seeds = 600
	}
	for name, c := range map[string]struct {
		of   simulation
		most int
	}{
		"at once":                            {simulation{workers: 4, poison: 5}, 4},
		"at once, a single worker":           {simulation{workers: 1, poison: 5}, 4},
		"after a second":                     {simulation{workers: 4, poison: 1000}, 4},
		"after a minute":                     {simulation{workers: 4, poison: 60_000}, 9},
		"after a minute, among many workers": {simulation{workers: 50, poison: 60_000}, 5},
		"at once, all are restarted":         {simulation{workers: 4, poison: 5, together: true}, 8},
		"after a second, all are restarted":  {simulation{workers: 10, poison: 1000, together: true}, 12},
		"at once, among kills":               {simulation{workers: 4, poison: 5, kills: 50}, 8},
		"after a minute, among kills":        {simulation{workers: 4, poison: 60_000, kills: 50}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most, unlucky := 0, 0
			for seed := range seeds {
				s := c.of
				s.slots, s.jobs, s.long = 20, 5000, 1500
				s.run(seed)
				require.Contains(t, s.buried, s.deadly, seed)
				unlucky += len(s.buried) - 1
				record := Read(strings.Join(s.deadly.words, " "))
				most = max(most, len(record.counted))
			}
			assert.LessOrEqual(t, most, cmp.Or(c.most, 12))
			// who is always near the deadly one is as suspicious: that is rare, and cannot be told apart from outside
			assert.LessOrEqual(t, unlucky, int(seeds/200), "its neighbours are not buried with it")
			t.Logf("buried after at most %d crashes, and with it %d neighbours in %d runs", most, unlucky, seeds)
		})
	}
}
