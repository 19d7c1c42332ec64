package work

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// full draws and charges as if every queue had work without end, and returns what each one got.
func full(s *prioritySampler, draws, jobs int) map[string]int {
	got := map[string]int{}
	for range draws {
		for _, share := range s.draw(jobs) {
			got[share.Queue] += share.Jobs
			s.charge(share.Queue, share.Jobs)
		}
	}
	return got
}

func samplerOf(priorities map[string]int) *prioritySampler {
	s := newPrioritySampler(priorities)
	for name := range priorities {
		s.add(name)
	}
	return s
}

func TestSharesFollowPriorities(t *testing.T) {
	t.Parallel()
	for name, priorities := range map[string]map[string]int{
		"equal":        {"a": 1, "b": 1, "c": 1},
		"1 to 4":       {"a": 1, "b": 2, "c": 3, "d": 4},
		"1 to 100":     {"a": 1, "b": 10, "c": 100},
		"equal, large": {"a": 100_000, "b": 100_000},
	} {
		for _, jobs := range []int{1, 7, 20, 200} {
			t.Run(fmt.Sprintf("%s, %d jobs", name, jobs), func(t *testing.T) {
				t.Parallel()
				total := 0
				for _, priority := range priorities {
					total += priority
				}
				got := full(samplerOf(priorities), 10_000, jobs)
				for queue, priority := range priorities {
					want := float64(priority) / float64(total)
					assert.InEpsilon(t, want, float64(got[queue])/float64(10_000*jobs), 0.03, queue)
				}
			})
		}
	}
}

func TestEqualPrioritiesTakeTurns(t *testing.T) {
	t.Parallel()
	s := samplerOf(map[string]int{"a": 5, "b": 5, "c": 5})
	for range 100 {
		got := full(s, 3, 1)
		assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, got)
	}
}

func TestTheLightestQueueIsServedAmongTheHeaviest(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{1, 20, 200} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			t.Parallel()
			s := samplerOf(map[string]int{"heavy": 100_000, "light": 1})
			got := full(s, 1_000_000/jobs, jobs)
			assert.InDelta(t, 10, got["light"], 1.1, "one in 100,000, not eight at once and then none for long")
			assert.Equal(t, 1_000_000/jobs*jobs, got["heavy"]+got["light"])
		})
	}
}

func TestAQueueThatJoinsDoesNotCatchUp(t *testing.T) {
	t.Parallel()
	s := newPrioritySampler(map[string]int{"a": 1, "b": 1, "c": 1})
	s.add("a")
	full(s, 1000, 20)
	s.add("b")
	got := full(s, 100, 20)
	assert.InDelta(t, 1000, got["b"], 40)

	s.remove("b")
	full(s, 1000, 20)
	s.setReady([]string{"a", "b", "c"})
	got = full(s, 100, 30)
	assert.InDelta(t, 1000, got["b"], 60, "neither does one that was there before")
	assert.InDelta(t, 1000, got["c"], 60)
}

func TestAQueueThatWasServedAloneDoesNotPayForIt(t *testing.T) {
	t.Parallel()
	s := newPrioritySampler(map[string]int{"light": 1, "heavy": 1000})
	s.add("light")
	full(s, 1000, 20)
	s.add("heavy")
	got := full(s, 1001, 20)
	assert.InDelta(t, 20, got["light"], 2, "it goes on with its share")
}

func TestWhatFillsUpIsCharged(t *testing.T) {
	t.Parallel()
	s := samplerOf(map[string]int{"a": 1, "b": 1})
	s.draw(20)
	s.charge("a", 20) // b gave nothing although it should have
	got := full(s, 1, 20)
	assert.Greater(t, got["b"], got["a"])
}

func TestADrawNamesSparesAndAtMostSoManyQueues(t *testing.T) {
	t.Parallel()
	priorities := map[string]int{}
	for i := range 200 {
		priorities[fmt.Sprintf("q%03d", i)] = 1
	}
	s := samplerOf(priorities)
	shares := s.draw(1)
	require.Len(t, shares, 1+spareQueues)
	assert.LessOrEqual(t, len(s.draw(500)), rdb.MaxQueues)

	got := full(s, 1000, 20)
	require.Len(t, got, 200, "each of more queues than one draw may name has its turn")
	for queue, jobs := range got {
		assert.InDelta(t, 100, jobs, 10, queue)
	}
}

// spared draws that many jobs, and answers as if each queue had so many and the draw got what it wanted at the most. It
// returns how many queues were named to fill up from, and how many jobs came.
func spared(s *prioritySampler, jobs, each int) (spares, got int) {
	shares, gave := s.draw(jobs), map[string]int{}
	for _, most := range []bool{true, false} { // each its share, then any of them
		for _, share := range shares {
			n := min(each-gave[share.Queue], jobs-got)
			if most {
				n = min(n, share.Jobs)
			} else if share.Jobs == 0 {
				spares++
			}
			gave[share.Queue] += n
			got += n
		}
	}
	s.learn(shares, got, func(queue string) int { return gave[queue] })
	for queue, n := range gave {
		s.charge(queue, n)
	}
	return spares, got
}

func TestManyQueuesWithFewJobsFillADraw(t *testing.T) {
	t.Parallel()
	priorities := map[string]int{}
	for i := range 1000 {
		priorities[fmt.Sprintf("q%03d", i)] = 1
	}
	for each, row := range map[int]struct{ atFirst, spares int }{
		1: {4, rdb.MaxQueues - 2}, 2: {8, rdb.MaxQueues - 2}, 10: {40, 16}, 25: {100, 4}, 100: {100, 2},
	} {
		t.Run(fmt.Sprintf("%d each", each), func(t *testing.T) {
			t.Parallel()
			s := samplerOf(priorities)
			spares, got := spared(s, 100, each)
			assert.Equal(t, []int{spareQueues, row.atFirst}, []int{spares, got}, "nothing is known yet")
			for range 10 {
				spares, got = spared(s, 100, each)
			}
			assert.LessOrEqual(t, spares, row.spares)
			assert.Equal(t, min(100, rdb.MaxQueues*each), got)
			for range 100 {
				spares, _ = spared(s, 100, 1000)
			}
			assert.Equal(t, spareQueues, spares, "few are named where these have enough")
		})
	}
}

func TestFewQueuesAreNotTakenForMany(t *testing.T) {
	t.Parallel()
	s := samplerOf(map[string]int{"a": 1, "b": 1, "c": 1})
	for range 10 {
		spared(s, 100, 1) // that is all there is
	}
	assert.Equal(t, spareQueues, s.spares)
}

func TestADrawWithoutQueues(t *testing.T) {
	t.Parallel()
	s := newPrioritySampler(map[string]int{"a": 1})
	assert.True(t, s.idle())
	assert.Empty(t, s.draw(10))
	s.add("unknown")
	s.remove("a")
	s.charge("unknown", 3)
	assert.True(t, s.idle())
	s.add("a")
	s.add("a")
	assert.Equal(t, []rdb.Share{{Queue: "a", Jobs: 10}}, s.draw(10))
}

// What a fetch pays to decide how many jobs to ask from which queue, and to book what came: with so many queues that
// have work, for as many jobs as a pool of 20 or 200 wants. Every third queue is three times as heavy.
func BenchmarkSampler(b *testing.B) {
	for _, queues := range []int{1, 10, 100, 1000} {
		for _, jobs := range []int{1, 20, 200} {
			b.Run(fmt.Sprintf("queues=%d/jobs=%d", queues, jobs), func(b *testing.B) {
				s := readySampler(queues)
				b.ReportAllocs()
				for b.Loop() {
					for _, share := range s.draw(jobs) {
						s.charge(share.Queue, share.Jobs)
					}
				}
			})
		}
	}
}

// What the answer to a fetch costs that tells which queues are ready: once in 5 ms at the most.
func BenchmarkSamplerSetReady(b *testing.B) {
	for _, queues := range []int{10, 1000} {
		b.Run(fmt.Sprintf("queues=%d", queues), func(b *testing.B) {
			s := readySampler(queues)
			ready := make([]string, 0, queues)
			for name := range s.byName {
				ready = append(ready, name)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.setReady(ready)
			}
		})
	}
}

func readySampler(queues int) *prioritySampler {
	priorities := map[string]int{}
	for i := range queues {
		priorities[fmt.Sprint("job", i)] = 1 + 2*(i%3/2)
	}
	s := newPrioritySampler(priorities)
	for i := range queues {
		s.add(fmt.Sprint("job", i))
	}
	return s
}
