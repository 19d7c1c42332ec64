package work

import (
	"fmt"
	"testing"
)

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
