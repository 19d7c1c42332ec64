package inspect_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// divided is a namespace of three partitions on one server, and an Inspector for which each of them can be made to
// fail.
type divided struct {
	*kit
	parts   []*kit // each a namespace by itself
	outages *partitiontest.Outages
	i       *inspect.Inspector
}

const parts = 3

// newDivided has what is in the partitions put there, and then makes them one namespace.
func newDivided(t *testing.T, s redistest.Server, fill func(n int, k *kit)) *divided {
	d := &divided{kit: newKit(t, s)}
	for n := range parts {
		d.parts = append(d.parts, &kit{d.Kit.Part(n)})
		fill(n, d.parts[n])
	}
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	partitiontest.WriteMap(t, driver, d.Namespace, partitiontest.Divided(1, parts))
	d.outages = partitiontest.NewOutages(driver, d.Namespace)
	d.i, err = inspect.New("", work.WithConnection(pooltest.Connection{Of: d.outages}), work.Namespace(d.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.i.Close() })
	return d
}

// alone is an Inspector of one partition only.
func (d *divided) alone(n int) *inspect.Inspector { return inspect.Alone(d.i, n) }

// crowdOf stores jobs in one state with ids that begin with a letter, at times that others have too.
func (k *kit) crowdOf(letter string, state work.State, many int) {
	k.T.Helper()
	k.Do("ZADD", "queues", 1, "n")
	for n := range many {
		id := fmt.Sprintf("%s%03d", letter, n)
		at := 4_000_000_000_000 + n%40*3
		k.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":%d}`, id, 1000+n))
		if state == work.StateQueued {
			k.Do("LPUSH", "queue:n", id)
			k.Do("SADD", "ready", "n")
			continue
		}
		k.Do("ZADD", string(inspect.Selectable[state]), at, id)
		k.Do("HSET", "names", id, "n")
	}
}

func TestPagesOfPartitionsTellAllJobsOnceAndInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, state := range []work.State{work.StateQueued, work.StateScheduled, work.StateDead} {
		// with 14 a page ends with the last job of a partition
		for limit, newest := range map[int]bool{10: false, 14: false, 11: true, 15: true} {
			t.Run(fmt.Sprint(state, " newest ", newest, limit), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					sizes := []int{0, 90, 7}
					d := newDivided(t, s, func(n int, k *kit) { k.crowdOf(string(rune('a'+n)), state, sizes[n]) })
					opts := inspect.PageOptions{State: state, Newest: newest, Limit: limit}
					if state == work.StateQueued {
						opts.Name = "n"
					}
					seen, last := map[string]int{}, time.Time{}
					for pages := 1; ; pages++ {
						page, err := d.i.Page(d.Ctx(), opts)
						require.NoError(t, err)
						require.Equal(t, 97, page.Total)
						if state == work.StateQueued {
							last = time.Time{} // queues have an order in a page only
						}
						for _, job := range page.Jobs {
							seen[job.ID]++
							assert.Equal(t, int(job.ID[0]-'a'), job.Partition)
							if !last.IsZero() && newest {
								assert.False(t, job.EnqueuedAt.IsZero(), "it is told")
								assert.False(t, orderOf(job).After(last), "%s", job.ID)
							} else if !last.IsZero() {
								assert.False(t, orderOf(job).Before(last), "%s", job.ID)
							}
							last = orderOf(job)
						}
						if opts.Cursor = page.Next; page.Next == "" {
							assert.Equal(t, (97+limit-1)/limit, pages)
							break
						}
						require.Len(t, page.Jobs, limit)
						assert.Less(t, len(page.Next), 300)
					}
					assert.Len(t, seen, 97)
					for id, times := range seen {
						assert.Equal(t, 1, times, id)
					}
				})
			})
		}
	}
}

// orderOf is the time by which a job stands where it does.
func orderOf(job *inspect.JobInfo) time.Time {
	if job.State == work.StateDead {
		return job.Since
	}
	return job.RunAt
}

func TestASearchOfPartitionsFindsAllJobsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		sizes := []int{0, 90, 7}
		d := newDivided(t, s, func(n int, k *kit) {
			k.crowdOf(string(rune('a'+n)), work.StateQueued, sizes[n])
			k.crowdOf(string(rune('x'+n)), work.StateDead, sizes[2-n])
		})
		seen, opts := map[string]int{}, inspect.SearchOptions{Limit: 10}
		for {
			page, err := d.i.Search(d.Ctx(), inspect.Selection{Name: "n"}, opts)
			require.NoError(t, err)
			require.Equal(t, 194, page.Total)
			for _, job := range page.Jobs {
				seen[job.ID]++
			}
			if opts.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		assert.Len(t, seen, 194)

		found, err := d.i.Search(d.Ctx(), inspect.Selection{ID: "c003"}, inspect.SearchOptions{})
		require.NoError(t, err)
		require.Len(t, found.Jobs, 1)
		assert.Equal(t, 2, found.Jobs[0].Partition)

		d.outages.Set(1, partitiontest.Down)
		found, err = d.i.Search(d.Ctx(), inspect.Selection{Name: "n"}, inspect.SearchOptions{Limit: 200})
		d.missing(err)
		assert.Len(t, found.Jobs, 97+7-90)
	})
}

// missing requires an error that names the second partition, which is down.
func (d *divided) missing(err error, text ...any) {
	d.T.Helper()
	var partial *inspect.PartialError
	require.ErrorAs(d.T, err, &partial, text...)
	require.Len(d.T, partial.Missing, 1, "%v: %v", text, err)
	assert.Equal(d.T, 1, partial.Missing[0].Partition, text...)
	var dial *redisconn.DialError
	assert.ErrorAs(d.T, err, &dial, text...)
}

func TestAJobIsFoundInWhicheverPartitionItIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		var made [parts]string
		d := newDivided(t, s, func(n int, k *kit) {
			k.crowdOf(string(rune('a'+n)), work.StateQueued, 2)
			made[n] = ids.InPartition(ids.Job(time.Now()), n)
			_, err := k.Enq.Enqueue(k.Ctx(), "m", n)
			require.NoError(t, err)
			k.Do("HSET", "jobs", made[n], fmt.Sprintf(`{"jid":%q,"name":"n","args":[%d],"t":1}`, made[n], n))
			k.Do("LPUSH", "queue:n", made[n])
		})
		for n := range parts {
			for _, id := range []string{made[n], fmt.Sprintf("%c001", 'a'+n)} {
				job, err := d.i.Job(d.Ctx(), id)
				require.NoError(t, err, id)
				assert.Equal(t, n, job.Partition)
				require.NoError(t, d.i.Stall(d.Ctx(), id))
				job, err = d.i.Job(d.Ctx(), id)
				require.NoError(t, err, id)
				assert.Equal(t, work.StateStalled, job.State)
			}
		}
		jobs, err := d.i.Jobs(d.Ctx(), "c001", "nobody", made[1], "a000")
		require.NoError(t, err)
		assert.Nil(t, jobs[1])
		assert.Equal(t, []int{2, 1, 0}, []int{jobs[0].Partition, jobs[2].Partition, jobs[3].Partition})
		_, err = d.i.Job(d.Ctx(), "nobody")
		require.ErrorIs(t, err, work.ErrNotFound)
		require.ErrorIs(t, d.i.Delete(d.Ctx(), "nobody"), work.ErrNotFound)

		before := d.outages.Sent(1) + d.outages.Sent(2)
		_, err = d.i.Job(d.Ctx(), made[0])
		require.NoError(t, err)
		assert.LessOrEqual(t, d.outages.Sent(1)+d.outages.Sent(2)-before, 2, "but for the map nobody else is asked")

		d.outages.Set(1, partitiontest.Down)
		for _, id := range []string{made[0], made[2], "c001"} {
			_, err = d.i.Job(d.Ctx(), id)
			require.NoError(t, err, "it is found elsewhere")
		}
		jobs, err = d.i.Jobs(d.Ctx(), "c001", "nobody", made[1])
		d.missing(err)
		assert.NotNil(t, jobs[0])
		_, err = d.i.Job(d.Ctx(), "nobody")
		d.missing(err)
		require.NotErrorIs(t, err, work.ErrNotFound, "nobody knows")
		d.missing(d.i.Stall(d.Ctx(), made[1]))
	})
}

func TestWhereNoPartitionAnswersTheErrorIsPlain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(int, *kit) {})
		for n := range parts {
			d.outages.Set(n, partitiontest.Down)
		}
		_, err := d.i.Counts(d.Ctx())
		var partial *inspect.PartialError
		require.Error(t, err)
		assert.False(t, errors.As(err, &partial), "%v", err)
		_, err = d.i.Job(d.Ctx(), "x")
		require.Error(t, err)
		assert.False(t, errors.As(err, &partial), "%v", err)
	})
}

// A namespace with one partition is asked as if there were none, but for the reading of its map once a second.
func TestOnePartitionCostsNoMore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.standing(work.StateQueued, "a")
		outages := partitiontest.NewOutages(k.Raw().Driver(), k.Namespace)
		i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: outages}), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Close() })
		alone := inspect.Alone(i, 0)
		sent := func(do func()) int {
			before := outages.Sent(0)
			do()
			return outages.Sent(0) - before
		}
		for name, read := range map[string]func(i *inspect.Inspector) error{
			"Counts": func(i *inspect.Inspector) error { _, err := i.Counts(k.Ctx()); return err },
			"Job":    func(i *inspect.Inspector) error { _, err := i.Job(k.Ctx(), id); return err },
			"Queues": func(i *inspect.Inspector) error { _, err := i.Queues(k.Ctx()); return err },
			"Page": func(i *inspect.Inspector) error {
				_, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "a"})
				return err
			},
		} {
			require.NoError(t, read(alone), name) // and the guard has asked for the layout
			want := sent(func() { require.NoError(t, read(alone), name) })
			require.NoError(t, read(i), name)
			got := sent(func() { require.NoError(t, read(i), name) })
			assert.LessOrEqual(t, got, want+1, "%s: the map is read once a second", name)
		}
	})
}
