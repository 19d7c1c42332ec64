package rdb_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// due is one job of a shelf.
type due struct {
	id string
	at int
}

// sorted is how a shelf stands: by time, and by the bytes of the ids.
func sorted(jobs map[string]int, newest bool) []string {
	var all []due
	for id, at := range jobs {
		all = append(all, due{id, at})
	}
	slices.SortFunc(all, func(a, b due) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id)) })
	if newest {
		slices.Reverse(all)
	}
	ids := make([]string, len(all))
	for i, job := range all {
		ids[i] = job.id
	}
	return ids
}

// anyID is one whose order differs between bytes and languages.
func anyID(dice *rand.Rand) string {
	letters := []string{"a", "B", "c", "ä", "z", "Z", "-", "_", "0", "9", "é", " "}
	var id strings.Builder
	for range 1 + dice.IntN(5) {
		id.WriteString(letters[dice.IntN(len(letters))])
	}
	return id.String()
}

// churn is how many different times jobs are due at, and how many go and come after each page.
type churn struct{ times, gone, come int }

func TestThoseThatStayOnAShelfComeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	cases := map[string]churn{
		"nothing happens":                 {times: 50},
		"all at the same time":            {times: 1},
		"all at the same time, some go":   {times: 1, gone: 15},
		"few times, some go, others come": {times: 3, gone: 10, come: 10},
		"many times, most go":             {times: 1000, gone: 40, come: 5},
	}
	for name, c := range cases {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", newest ", newest), func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					for seed := range uint64(3) {
						c.read(t, s, newest, seed)
					}
				})
			})
		}
	}
}

// read reads all pages of a shelf with 150 jobs, while some go and come.
func (c churn) read(t *testing.T, s *site, newest bool, seed uint64) {
	t.Helper()
	dice := rand.New(rand.NewPCG(seed, 2))
	jobs, stay := map[string]int{}, map[string]int{}
	s.cmd(t, "UNLINK", "retry")
	put := func() {
		id, at := anyID(dice), dice.IntN(c.times)
		if _, is := jobs[id]; !is {
			jobs[id] = at
			s.cmd(t, "ZADD", "retry", at, id)
		}
	}
	for range 150 {
		put()
	}
	maps.Copy(stay, jobs)
	cursor := rdb.ShelfCursor{Newest: newest}
	var read []string
	for {
		page, err := s.store.ShelfPage(background, rdb.ShelfRetry, &cursor, 7)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, job := range page {
			assert.EqualValues(t, jobs[job.ID], job.At)
			read = append(read, job.ID)
		}
		ids := sorted(jobs, newest)
		for range c.gone {
			id := ids[dice.IntN(len(ids))] // or one that is gone
			s.cmd(t, "ZREM", "retry", id)
			delete(jobs, id)
			delete(stay, id)
		}
		if last := page[len(page)-1].ID; c.gone > 0 { // the cursor's own
			s.cmd(t, "ZREM", "retry", last)
			delete(jobs, last)
			delete(stay, last)
		}
		if len(read) < 200 {
			for range c.come {
				put()
			}
		}
	}
	got := slices.DeleteFunc(slices.Clone(read), func(id string) bool { _, is := stay[id]; return !is })
	require.Equal(t, sorted(stay, newest), got, "seed %d", seed)
}

func TestClaimsComeByTime(t *testing.T) {
	t.Parallel()
	for _, newest := range []bool{false, true} {
		t.Run(fmt.Sprint("newest ", newest), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				dice := rand.New(rand.NewPCG(1, 3))
				jobs, stay := map[string]int{}, map[string]int{}
				worker := strings.Repeat("w", rdb.MinWorkerID)
				claim := func(id, queue string, at int) {
					s.cmd(t, "HSET", "claimed", id, fmt.Sprint(worker, " 1 ", 1_000_000_000_000+at, " ", queue))
				}
				for i := range 1500 {
					id := fmt.Sprint("j", i)
					jobs[id] = dice.IntN(300)
					stay[id] = jobs[id]
					claim(id, "a", jobs[id])
					claim("other "+id, "b", dice.IntN(300))
				}
				var read []string
				for cursor := (rdb.ClaimCursor{Newest: newest}); ; {
					page, total, err := s.store.ClaimPage(background, "a", cursor, 100)
					require.NoError(t, err)
					assert.Equal(t, len(jobs), total)
					if len(page) == 0 {
						break
					}
					for _, claim := range page {
						assert.Equal(t, "a", claim.Queue)
						read = append(read, claim.ID)
					}
					cursor.MoveTo(page[len(page)-1])
					for range 20 {
						id := fmt.Sprint("j", dice.IntN(1500))
						s.cmd(t, "HDEL", "claimed", id)
						delete(jobs, id)
						delete(stay, id)
					}
				}
				got := slices.DeleteFunc(read, func(id string) bool { _, is := stay[id]; return !is })
				require.Equal(t, sorted(stay, newest), got)
				_, total, err := s.store.ClaimPage(background, "", rdb.ClaimCursor{}, 1)
				require.NoError(t, err)
				assert.Equal(t, 1500+len(jobs), total, "of all queues")
				counts, err := s.store.ClaimsByQueue(background)
				require.NoError(t, err)
				assert.Equal(t, map[string]int{"a": len(jobs), "b": 1500}, counts)
			})
		})
	}
}
