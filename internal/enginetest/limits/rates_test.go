package limits_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/subscription"
)

// rateCase is a rate and under what it is measured.
type rateCase struct {
	limit   work.Limit
	pools   int
	handler time.Duration
	busy    bool // beside a queue that takes all processors it can get
}

func (c rateCase) String() string {
	burst := "default"
	if c.limit.Burst > 0 {
		burst = fmt.Sprint(c.limit.Burst)
	}
	name := fmt.Sprintf("%d per %s, burst %s, %d pools, %s", c.limit.Rate, c.limit.Per, burst, c.pools, c.handler)
	if c.limit.Concurrent > 0 {
		name += fmt.Sprintf(", concurrent %d", c.limit.Concurrent)
	}
	if c.busy {
		name += ", beside a busy queue"
	}
	return name
}

// row is the beginning of its row in the table, which it shares with the other cases of its rate and burst.
func (c rateCase) row() string {
	rate := fmt.Sprintf("%d per %s", c.limit.Rate, c.limit.Per)
	if c.limit.Concurrent > 0 {
		rate += fmt.Sprintf(", concurrent %d", c.limit.Concurrent)
	}
	return fmt.Sprintf("%s | %d", rate, limit.Spec(c.limit).Stored().Burst)
}

// rateFigures are what came of it.
type rateFigures struct {
	reached float64 // the share of the rate, once the burst was used
	// by which the jobs of some time came before the rate allows so many: how unsteady their way is
	early time.Duration
}

// rateTable is the table of the page: the worst of all cases of each rate and burst.
type rateTable struct {
	rows  []string
	worst map[string]rateFigures
}

func (r *rateTable) add(row string, f rateFigures) {
	w, known := r.worst[row]
	if !known {
		r.rows, w = append(r.rows, row), f
	}
	if r.worst == nil {
		r.worst = map[string]rateFigures{}
	}
	r.worst[row] = rateFigures{reached: min(w.reached, f.reached), early: max(w.early, f.early)}
}

func (r *rateTable) String() string {
	var b strings.Builder
	b.WriteString("| rate | burst | share reached, the least | early by at most |\n|---|---|---|---|\n")
	for _, row := range r.rows {
		f := r.worst[row]
		fmt.Fprintf(&b, "| %s | %.3f | %.1f ms |\n", row, f.reached, f.early.Seconds()*1000)
	}
	return b.String()
}

// beginnings are the times at which jobs began.
type beginnings struct {
	mu    sync.Mutex
	times []time.Time
	most  int
	all   chan struct{}
}

func (b *beginnings) add() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times = append(b.times, time.Now()); len(b.times) == b.most {
		close(b.all)
	}
}

// measure runs jobs for so long and looks when they began. It fails if more began than the rate allows since the pools
// started.
func (c rateCase) measure(t *testing.T, k *kit, d time.Duration) rateFigures {
	t.Helper()
	per := c.limit.Per.Seconds() / float64(c.limit.Rate)
	burst := limit.Spec(c.limit).Stored().Burst
	wanted := max(3, int(d.Seconds()/per))
	b := &beginnings{most: burst + wanted, all: make(chan struct{})}
	k.EnqueueNumbers("rated", 0, b.most+burst)
	if c.busy {
		k.EnqueueNumbers("busy", 0, 5000+int(6000*d.Seconds()))
	}
	started := time.Now()
	for range c.pools {
		pool := work.NewWorkerPool(nil, 60/c.pools, k.Another(pooltest.NewSpy())).
			JobWithOptions("rated", work.JobOptions{Limit: c.limit}, func(int) error {
				b.add()
				backoff.Pause(t.Context(), c.handler)
				return nil
			}).
			Job("busy", func(int) error { backoff.Pause(t.Context(), 5*time.Millisecond); return nil })
		k.Start(pool)
	}
	select {
	case <-b.all:
	case <-time.After(4*time.Duration(float64(wanted)*per*float64(time.Second)) + time.Second):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	times, end := b.times, time.Now()
	if len(times) >= b.most {
		end = times[b.most-1]
	}
	require.Greater(t, len(times), burst, "nothing begins any more once the burst is used")
	most := func(since time.Time, until time.Time) float64 { return float64(burst) + until.Sub(since).Seconds()/per }
	figures := rateFigures{reached: float64(len(times)-burst) * per / end.Sub(times[burst-1]).Seconds()}
	slowest := 0.0
	for i, at := range times {
		require.LessOrEqual(t, float64(i+1), most(started, at), "%s: never above", c)
		behind := at.Sub(started).Seconds() - float64(i)*per // the one that was latest shortens the time behind it
		slowest = max(slowest, behind)
		early := slowest - behind - float64(burst-1)*per
		figures.early = max(figures.early, time.Duration(early*float64(time.Second)))
	}
	return figures
}

// A rate holds from both sides. How much of it is reached where others need the machine as well says little; a fetcher
// that does not know when there is room waits for a token, which nobody leaves, before each job.
func TestARateIsWaitedForAndNeverExceeded(t *testing.T) {
	t.Parallel()
	for _, c := range []rateCase{
		{limit: work.Limit{Rate: 20, Per: time.Second, Burst: 1}, pools: 1},
		{limit: work.Limit{Rate: 1200, Per: time.Minute}, pools: 3, handler: 20 * time.Millisecond},
		{limit: work.Limit{Rate: 20, Per: time.Second, Burst: 1, Concurrent: 1}, pools: 1,
			handler: 5 * time.Millisecond},
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const jobs = 20
				f := c.measure(t, newKit(t, s), jobs*time.Second/20)
				t.Logf("%.3f of the rate", f.reached)
				assert.Greater(t, f.reached*20, 2.4, "jobs in a second: of those that sleep it is about one")
			})
		})
	}
}

// TestRatesAreReached measures the whole matrix, each for some seconds, and writes the figures into the file that
// WORK_RATES_FIGURES names.
func TestRatesAreReached(t *testing.T) {
	if os.Getenv("WORK_RATES_LONG") == "" {
		t.Skip("WORK_RATES_LONG is not set: half an hour")
	}
	var table rateTable
	for _, c := range rateMatrix() {
		t.Run(c.String(), func(t *testing.T) {
			s := redistest.Real(t)
			d := cmp.Or(map[int]time.Duration{1: 8 * time.Second, 10: 4 * time.Second}[c.limit.Rate], 3*time.Second)
			f := c.measure(t, newKit(t, s), d)
			table.add(c.row(), f)
			t.Logf("%.3f of the rate, early by %s", f.reached, f.early)
			assert.GreaterOrEqual(t, f.reached, 0.95)
		})
	}
	if file := os.Getenv("WORK_RATES_FIGURES"); file != "" {
		redistest.WriteFigures(t, file, "rates", table.String())
	}
}

func rateMatrix() (matrix []rateCase) {
	for _, rate := range []work.Limit{
		{Rate: 1, Per: time.Second}, {Rate: 10, Per: time.Second}, {Rate: 100, Per: time.Second},
		{Rate: 300, Per: time.Second},
		{Rate: 1000, Per: time.Second}, {Rate: 600, Per: time.Minute},
	} {
		for _, burst := range []int{1, 0} {
			for _, pools := range []int{1, 3} {
				for _, handler := range []time.Duration{0, 20 * time.Millisecond} {
					for _, busy := range []bool{false, true} {
						rate.Burst = burst
						matrix = append(matrix, rateCase{limit: rate, pools: pools, handler: handler, busy: busy})
					}
				}
			}
		}
	}
	return append(matrix,
		rateCase{limit: work.Limit{Rate: 50, Per: time.Second, Concurrent: 3}, pools: 1,
			handler: 20 * time.Millisecond},
		rateCase{limit: work.Limit{Rate: 50, Per: time.Second, Concurrent: 3}, pools: 3, handler: 20 * time.Millisecond,
			busy: true},
	)
}

// The page has a row for each rate and burst of the matrix, in the form in which the long form writes it.
func TestRatesOfThePageAreThoseOfTheMatrix(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/limits.md")
	require.NoError(t, err)
	var table rateTable
	for _, c := range rateMatrix() {
		table.add(c.row(), rateFigures{reached: 1})
	}
	form := regexp.MustCompile(`[0-9.]+ \| [0-9.]+ ms \|\n`)
	_, figures, _ := strings.Cut(string(page), "<!-- rates -->\n\n")
	figures, _, _ = strings.Cut(figures, "\n<!-- end of rates -->")
	assert.Equal(t, form.ReplaceAllString(table.String(), ""), form.ReplaceAllString(figures, ""))
}

// A job that was taken ahead of its time does not begin before it.
func TestAJobThatIsTakenAheadBeginsAtItsTime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var answered atomic.Int64
		began := make(chan time.Time, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { began <- time.Now(); return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "fetch" && err == nil {
				// a round: of its first part, when the first job may begin
				if answer := replies[0].Value.([]any); len(answer) > 7 {
					answer[7].([]any)[0].([]any)[2] = int64(time.Hour / time.Microsecond)
					answered.Store(time.Now().UnixNano())
				}
			}
			return replies, err
		}})
		k.Start(pool)
		k.Enqueue("n")
		waited := pooltest.Receive(t, began).Sub(time.Unix(0, answered.Load()))
		assert.GreaterOrEqual(t, waited, subscription.LeastAhead,
			"as long as a fetch reaches ahead, whatever Redis says")
		assert.Less(t, waited, time.Minute/2)
	})
}

// Over a slow link jobs are taken ahead of their time, and begin one by one, not as they come.
func TestARateIsReachedOverASlowLink(t *testing.T) {
	if os.Getenv("WORK_RATES_LONG") == "" {
		t.Skip("WORK_RATES_LONG is not set")
	}
	s := redistest.Real(t)
	k := newKit(t, s)
	proxy := redistest.NewProxy(t, s.Addr())
	const each, jobs = 5 * time.Millisecond, 600
	k.EnqueueNumbers("n", 0, jobs)
	b := &beginnings{most: jobs, all: make(chan struct{})}
	opts := k.Options()
	opts.Connection = k.Via(proxy.DSN())
	pool := work.NewWorkerPool(nil, 30, opts).
		JobWithOptions("n", work.JobOptions{Limit: work.Limit{Rate: 200, Per: time.Second, Burst: 1}},
			func(int) error { b.add(); return nil })
	require.NoError(t, pool.Start(t.Context()))
	proxy.Slow(20*time.Millisecond, 1<<20)
	pooltest.Receive(t, b.all)
	require.NoError(t, pool.Stop(k.Ctx()))
	times := b.times[100:] // once it has learnt how slow the link is
	gaps := make([]time.Duration, len(times)-1)
	for i := range gaps {
		gaps[i] = times[i+1].Sub(times[i])
	}
	slices.Sort(gaps)
	reached := float64(len(gaps)) * each.Seconds() / times[len(gaps)].Sub(times[0]).Seconds()
	t.Logf("%.3f of the rate; the gaps: %v, %v, %v", reached, gaps[len(gaps)/10], gaps[len(gaps)/2],
		gaps[len(gaps)*9/10])
	assert.GreaterOrEqual(t, reached, 0.95)
	assert.Greater(t, gaps[len(gaps)/2], each/2)
}

func TestFewOfManyWorkersWaitForARate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const workers, jobs = 12, 100
		began := make(chan int, 3*jobs)
		var drivers []*pooltest.Tampered
		for range workers {
			pool := work.NewWorkerPool(nil, 5, k.Another(pooltest.NewSpy())).
				JobWithOptions("n", work.JobOptions{Limit: work.Limit{Rate: 50, Per: time.Second}},
					func(n int) error { began <- n; return nil })
			drivers = append(drivers, k.TamperWith(pool, &pooltest.Tampered{}))
			k.Start(pool)
		}
		fetches := func() (all int) {
			for _, d := range drivers {
				n, _ := d.Sent("fetch")
				all += n
			}
			return all
		}
		k.EnqueueNumbers("n", 0, 3*jobs) // all of them are there by now
		for range jobs {                 // until those that come too late have learnt that others are there
			pooltest.Receive(t, began)
		}
		before, begun := fetches(), time.Now()
		for range jobs {
			pooltest.Receive(t, began)
		}
		asked, looks := fetches()-before, 3*workers*(1+int(time.Since(begun)/liveness.Interval))
		t.Logf("%d fetches for %d jobs and %d workers that look each second", asked, jobs, workers)
		assert.Less(t, asked-looks, jobs*workers/3, "one or few of them ask for each job")
	})
}

// A worker that watches a rate may get busy with other jobs: it calls another to the room that it can not use.
func TestAFullWorkerHandsItsRatesOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran, slow, leave := make(chan string, 10), make(chan struct{}, 1), make(chan struct{})
		const per = 700 * time.Millisecond
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("rated", work.JobOptions{Limit: work.Limit{Rate: 1, Per: per, Burst: 1}},
				func() error { ran <- "rated"; return nil }).
			Job("slow", func() error { slow <- struct{}{}; <-leave; return nil })
		var handedOn atomic.Int64
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "wake" && slices.Contains(calls[0].Args, any("rated")) {
				handedOn.Add(1)
			}
			return pass(ctx, calls...)
		}})
		k.Enqueue("rated")
		k.Enqueue("rated")
		k.Start(pool)
		t.Cleanup(func() { close(leave) })
		pooltest.Receive(t, ran)
		k.Enqueue("slow")
		pooltest.Receive(t, slow)
		before := handedOn.Load()
		require.Eventually(t, func() bool { return handedOn.Load() > before }, pooltest.Patience, time.Millisecond)
		assert.Empty(t, ran, "its only processor is busy")
		k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
			JobWithOptions("rated", work.JobOptions{Limit: work.Limit{Rate: 1, Per: per, Burst: 1}},
				func() error { ran <- "rated"; return nil }))
		pooltest.Receive(t, ran)
	})
}
