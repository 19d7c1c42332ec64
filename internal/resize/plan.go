package resize

import (
	"slices"

	"github.com/265d0351/work/internal/partition"
)

// Plan is where each bucket is to be: spread evenly over the open partitions, with as few moves as can be. A bucket
// that is on its way goes on there.
func Plan(m *partition.Map) []int {
	open := m.Open()
	at, counts := make([]int, partition.Buckets), map[int]int{}
	for bucket := range at {
		at[bucket] = m.At(bucket)
		if to, moving := m.Moving[bucket]; moving {
			at[bucket] = to
		}
		if !slices.Contains(open, at[bucket]) {
			at[bucket] = -1
		} else {
			counts[at[bucket]]++
		}
	}
	most := quota(open, counts)
	for bucket, in := range at {
		_, moving := m.Moving[bucket]
		if in >= 0 && counts[in] > most[in] && !moving {
			counts[in]--
			at[bucket] = -1
		}
	}
	for bucket, in := range at {
		if in >= 0 {
			continue
		}
		for _, i := range open {
			if counts[i] < most[i] {
				counts[i]++
				at[bucket] = i
				break
			}
		}
		if at[bucket] < 0 { // some that are on their way fill others beyond their part
			at[bucket] = slices.MinFunc(open, func(a, b int) int { return counts[a] - counts[b] })
			counts[at[bucket]]++
		}
	}
	return at
}

// quota is how many buckets each open partition has in the end: those that have more now get what does not divide.
func quota(open []int, counts map[int]int) map[int]int {
	by := slices.Clone(open)
	slices.SortStableFunc(by, func(a, b int) int { return counts[b] - counts[a] })
	most := map[int]int{}
	for i, p := range by {
		most[p] = partition.Buckets / len(open)
		if i < partition.Buckets%len(open) {
			most[p]++
		}
	}
	return most
}
