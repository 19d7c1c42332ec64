package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// line is a queue and what happens to it while it is read.
type line struct {
	t    *testing.T
	site *site
	dice *rand.Rand
	made int
	ids  []string // the back first, as in Redis

	moved []string // by hand: those may come twice
}

func newLine(t *testing.T, s redistest.Server, jobs int, seed uint64) *line {
	l := &line{t: t, site: newSite(t, s.DSN(), s.Embedded()), dice: rand.New(rand.NewPCG(seed, 1))}
	l.come(jobs)
	return l
}

// come lets new jobs come, at the back.
func (l *line) come(jobs int) {
	for ; jobs > 0; jobs -= 1000 {
		var ids []string
		var args []any
		for range min(jobs, 1000) {
			l.made++
			ids = append(ids, fmt.Sprint("j", l.made))
			args = append(args, ids[len(ids)-1])
		}
		l.site.cmd(l.t, "LPUSH", "queue:a", args...)
		slices.Reverse(ids)
		l.ids = append(ids, l.ids...)
	}
}

// take lets workers take jobs, from the front.
func (l *line) take(jobs int) {
	jobs = min(jobs, len(l.ids))
	if jobs > 0 {
		l.site.cmd(l.t, "RPOP", "queue:a", jobs)
		l.ids = l.ids[:len(l.ids)-jobs]
	}
}

// back gives jobs back, to the front.
func (l *line) back(jobs int) {
	for range jobs {
		l.made++
		id := fmt.Sprint("g", l.made)
		l.site.cmd(l.t, "RPUSH", "queue:a", id)
		l.ids = append(l.ids, id)
	}
}

// remove takes that one out by hand.
func (l *line) remove(at int) {
	if at >= 0 && at < len(l.ids) {
		l.site.cmd(l.t, "LREM", "queue:a", 1, l.ids[at])
		l.ids = slices.Delete(l.ids, at, at+1)
	}
}

// cut takes the newest out by hand.
func (l *line) cut(jobs int) {
	l.site.cmd(l.t, "LTRIM", "queue:a", jobs, -1)
	l.ids = l.ids[jobs:]
}

// front moves that one to the front by hand.
func (l *line) front(at int) {
	if at < len(l.ids) {
		id := l.ids[at]
		l.remove(at)
		l.site.cmd(l.t, "RPUSH", "queue:a", id)
		l.ids, l.moved = append(l.ids, id), append(l.moved, id)
	}
}

// read reads all pages and calls between before each but the first. It returns what was read, and those that stood
// there all the time.
func (l *line) read(newest bool, n int, between func(last []string)) (read, stayed []string) {
	stayed = slices.Clone(l.ids)
	if !newest {
		slices.Reverse(stayed)
	}
	cursor := rdb.QueueCursor{Newest: newest}
	for more, first := true, true; more; first = false {
		if !first {
			between(read[max(0, len(read)-n):])
			stayed = slices.DeleteFunc(stayed, func(id string) bool {
				return !slices.Contains(l.ids, id) ||
					slices.Contains(l.moved, id)
			})
		}
		part, err := l.site.store.ReadQueue(background, "a", cursor, n)
		require.NoError(l.t, err)
		require.LessOrEqual(l.t, len(part.Jobs), n)
		for i, job := range part.Jobs {
			read = append(read, job.ID)
			ahead := len(l.ids) - 1 - slices.Index(l.ids, job.ID)
			require.Equal(l.t, ahead, part.Ahead(i), job.ID)
		}
		cursor, more = part.Behind(len(part.Jobs))
	}
	return read, stayed
}

func TestThoseThatStayInAQueueComeOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]func(l *line, last []string){
		"nothing happens":         func(*line, []string) {},
		"jobs come":               func(l *line, _ []string) { l.come(l.dice.IntN(40)) },
		"workers take few":        func(l *line, _ []string) { l.take(l.dice.IntN(8)) },
		"workers take many":       func(l *line, _ []string) { l.take(l.dice.IntN(60)) },
		"jobs come and are taken": func(l *line, _ []string) { l.come(l.dice.IntN(30)); l.take(l.dice.IntN(30)) },
		"jobs are given back":     func(l *line, _ []string) { l.back(l.dice.IntN(20)) },
		"a page is deleted": func(l *line, last []string) {
			for _, id := range last {
				l.remove(slices.Index(l.ids, id))
			}
		},
		"people take out any": func(l *line, _ []string) {
			for range l.dice.IntN(20) {
				l.remove(l.dice.IntN(max(1, len(l.ids))))
			}
		},
		"the last one read is moved": func(l *line, last []string) {
			if at := slices.Index(l.ids, last[len(last)-1]); at > 0 {
				l.front(at)
			}
		},
		"all of it": func(l *line, _ []string) {
			l.come(l.dice.IntN(100))
			l.take(l.dice.IntN(40))
			l.back(l.dice.IntN(5))
			l.remove(l.dice.IntN(max(1, len(l.ids))))
		},
	}
	for name, between := range cases {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", newest ", newest), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					for seed := range uint64(3) {
						l := newLine(t, s, 200, seed)
						rounds := 0
						read, stayed := l.read(newest, 10, func(last []string) {
							if rounds++; rounds <= 20 { // what comes faster than it is read has no end
								between(l, last)
							}
						})
						times := map[string]int{}
						for _, id := range read {
							times[id]++
						}
						for _, id := range stayed {
							require.Equal(t, 1, times[id], "%s, seed %d", id, seed)
						}
						if name == "nothing happens" {
							assert.Equal(t, stayed, read)
						}
					}
				})
			})
		}
	}
}

func TestAPlaceInAQueueIsFoundAgainFarAway(t *testing.T) {
	t.Parallel()
	const many = 8_000
	cases := map[string]struct {
		newest bool
		move   func(l *line)
	}{
		"4,000 came, 4,000 were taken":           {true, func(l *line) { l.come(4000); l.take(4000) }},
		"2,900 were taken, 2,500 came":           {false, func(l *line) { l.take(2900); l.come(2500) }},
		"many came":                              {true, func(l *line) { l.come(6000) }},
		"1,500 were taken out before it by hand": {true, func(l *line) { l.cut(1500); l.take(500) }},
		"some were given back, and some came":    {false, func(l *line) { l.back(150); l.come(500) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				l := newLine(t, s, many, 1)
				cursor := rdb.QueueCursor{Newest: c.newest}
				var first rdb.QueuePart
				for range 6 { // to 3,000
					part, err := l.site.store.ReadQueue(background, "a", cursor, 500)
					require.NoError(t, err)
					first = part
					cursor, _ = part.Behind(500)
				}
				last := slices.Index(l.ids, first.Jobs[499].ID)
				follows := l.ids[last-1]
				if c.newest {
					follows = l.ids[last+1]
				}
				c.move(l)
				part, err := l.site.store.ReadQueue(background, "a", cursor, 3)
				require.NoError(t, err)
				require.Len(t, part.Jobs, 3)
				assert.Equal(t, follows, part.Jobs[0].ID)
			})
		})
	}
}

// What nobody can know must end all the same, and leaves none out.
func TestAPlaceInAQueueThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, newest := range []bool{false, true} {
		t.Run(fmt.Sprint("newest ", newest), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				l := newLine(t, s, 400, 1)
				rounds := 0
				read, stayed := l.read(newest, 20, func([]string) {
					if rounds++; rounds == 5 {
						for range 30 { // from 90 to 110 or so are 15 before the place and 15 behind it
							at := 85
							if !newest {
								at = len(l.ids) - 85
							}
							l.remove(at)
						}
					}
				})
				for _, id := range stayed {
					require.Contains(t, read, id)
				}
			})
		})
	}
}
