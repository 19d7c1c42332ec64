package intake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
)

func TestCallsGoToThePartitionsInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			for n, id := range call.ids {
				number, made := ids.PartitionOf(id)
				assert.True(t, made)
				assert.Equal(t, i, number, "the id names its partition")
				assert.Equal(t, `{"jid":"`+id+`"}`, call.records[n])
			}
			return stored, nil
		})
		for n := range 400 {
			j := generated()
			before := j.ID
			require.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
			assert.Equal(t, before[:20], j.ID[:20])
			assert.Equal(t, []int{n % 4}, at.at[j.ID], "the caller is told the id that was stored")
		}
		assert.Equal(t, []int{100, 100, 100, 100}, at.per(4))
	})
}

func TestCallsAreAsLargeWithSeveralPartitions(t *testing.T) {
	t.Parallel()
	size := map[int]float64{}
	for _, n := range []int{1, 2, 4, 16, 1, 2, 4, 16, 1, 2, 4, 16} { // the best of three
		synctest.Test(t, func(t *testing.T) {
			var at landed
			d := newDivided(t, n, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
				elapse(time.Millisecond)
				at.note(i, call)
				return stored, nil
			})
			var callers sync.WaitGroup
			for range 128 {
				callers.Go(func() {
					for range 50 {
						assert.Equal(t, intake.Stored, d.Put(t.Context(), generated()).Outcome)
					}
				})
			}
			callers.Wait()
			calls, lanes := 0, map[string]bool{}
			for _, store := range d.stores {
				calls += len(store.sent())
				for _, call := range store.sent() {
					lanes[call.lane] = true
				}
			}
			size[n] = max(size[n], 128*50/float64(calls))
			for i, jobs := range at.per(n) {
				assert.InDelta(t, 128*50/n, jobs, 130, "partition %d of %d: no more than a call apart", i, n)
			}
			assert.LessOrEqual(t, len(lanes), 2*n)
		})
	}
	for n, jobs := range size { // the scheduler decides who is in time; with lanes of their own: half or less
		assert.InEpsilon(t, size[1], jobs, 0.45, "%d partitions: %v", n, size)
	}
}

func TestPartitionThatHangsHoldsUpItsOwnCallsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDivided(t, 4, func(ctx context.Context, i int, _ sentCall) (rdb.Enqueued, error) {
			if i == 1 {
				<-ctx.Done()
				return rdb.Enqueued{}, ctx.Err()
			}
			elapse(time.Millisecond)
			return stored, nil
		})
		var callers sync.WaitGroup
		var mu sync.Mutex
		unknown, late, others := 0, 0, 0
		for range 64 {
			callers.Go(func() {
				for range 100 {
					began := time.Now()
					result := d.Put(t.Context(), generated())
					mu.Lock()
					switch {
					case result.Outcome == intake.Unknown:
						unknown++
						var of *partition.Error
						if assert.ErrorAs(t, result.Err, &of) {
							assert.Equal(t, 1, of.Partition)
						}
					case time.Since(began) > 60*time.Millisecond:
						late++
					default:
						others++
					}
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		assert.Zero(t, late, "nobody else waits")
		calls := len(d.stores[1].sent())
		assert.LessOrEqual(t, calls, 2, "it gets no more while it hangs")
		assert.Greater(t, others, 6000)
		assert.Positive(t, unknown)
	})
}

// TestNobodyWaitsForAPartitionThatGoesOnHanging but those whose calls were under way when it began to: whether it is
// well again is found out without jobs.
func TestNobodyWaitsForAPartitionThatGoesOnHanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDivided(t, 4, func(ctx context.Context, i int, _ sentCall) (rdb.Enqueued, error) {
			if i == 1 {
				<-ctx.Done()
				return rdb.Enqueued{}, ctx.Err()
			}
			elapse(time.Millisecond)
			return stored, nil
		})
		d.hangs = 1
		var callers sync.WaitGroup
		var unknown atomic.Int64
		for range 16 {
			callers.Go(func() {
				for began := time.Now(); time.Since(began) < time.Minute; elapse(10 * time.Millisecond) {
					if d.Put(t.Context(), generated()).Outcome == intake.Unknown {
						unknown.Add(1)
					}
				}
			})
		}
		callers.Wait()
		assert.Positive(t, unknown.Load())
		assert.LessOrEqual(t, unknown.Load(), int64(16), "no more than there were at first")
		assert.LessOrEqual(t, len(d.stores[1].sent()), 2)
	})
}

func TestJobsOfAPartitionThatCannotBeReachedGoElsewhere(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"not sent": errNoRedis, "loading": refused("LOADING"), "full": refused("OOM"), "no password": refused("NOAUTH"),
		"many clients": refused("ERR max number of clients reached"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at landed
				d := newDivided(t, 3, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
					if i == 2 {
						return rdb.Enqueued{}, err
					}
					at.note(i, call)
					return stored, nil
				})
				for range 600 { // a minute
					began, j := time.Now(), generated()
					require.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
					assert.Zero(t, time.Since(began), "at once")
					assert.Len(t, at.at[j.ID], 1)
					elapse(100 * time.Millisecond)
				}
				per := at.per(2)
				assert.Equal(t, 600, per[0]+per[1])
				assert.InDelta(t, per[0], per[1], 20)
				assert.InDelta(t, 6, len(d.stores[2].sent()), 1, "it is tried after 1, 2, 4, 8, 16, 30 s")
			})
		})
	}
}

func TestPartitionThatIsWellAgainGetsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		well := false
		d := newDivided(t, 2, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			if i == 1 && !well {
				return rdb.Enqueued{}, errNoRedis
			}
			at.note(i, call)
			return stored, nil
		})
		put := func(n int) {
			for range n {
				require.Equal(t, intake.Stored, d.Put(t.Context(), generated()).Outcome)
			}
		}
		put(10)
		well = true
		put(10)
		assert.Equal(t, []int{20, 0}, at.per(2))
		elapse(time.Second)
		put(1) // has it asked
		synctest.Wait()
		put(11)
		assert.Equal(t, []int{21, 11}, at.per(2), "and what it has missed, if that is not much")
	})
}

func TestWhereAllPartitionsFailTheirErrorIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		want  error
		after time.Duration
	}{
		"full":     {err: refused("OOM"), want: retry.ErrFull},
		"not sent": {err: errNoRedis, want: context.DeadlineExceeded, after: timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDivided(t, 3, func(context.Context, int, sentCall) (rdb.Enqueued, error) {
					return rdb.Enqueued{}, c.err
				})
				began := time.Now()
				result := d.Put(t.Context(), generated())
				assert.Equal(t, intake.NotStored, result.Outcome)
				require.ErrorIs(t, result.Err, c.err)
				require.ErrorIs(t, result.Err, c.want)
				assert.Equal(t, c.after, time.Since(began))
			})
		})
	}
}

func TestWhatMayBeStoredStaysWithItsPartition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errs    []error
		outcome intake.Outcome
	}{
		"lost":                {errs: []error{errLost}, outcome: intake.Stored},
		"lost, then not sent": {errs: []error{errLost, errNoRedis, refused("LOADING")}, outcome: intake.Stored},
		"lost, then full":     {errs: []error{errLost, refused("OOM")}, outcome: intake.Unknown},
		"lost by a proxy":     {errs: []error{refused("upstream failure"), refused("LOADING")}, outcome: intake.Stored},
		"unknown words":       {errs: []error{refused("ERR the moon"), refused("OOM")}, outcome: intake.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []sentCall
				d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
					assert.Zero(t, i, "never elsewhere")
					calls = append(calls, call)
					if len(calls) <= len(c.errs) {
						return rdb.Enqueued{}, c.errs[len(calls)-1]
					}
					return stored, nil
				})
				assert.Equal(t, c.outcome, d.Put(t.Context(), generated()).Outcome)
				for _, call := range calls {
					call.nth = calls[0].nth
					assert.Equal(t, calls[0], call, "the same call")
				}
			})
		})
	}
}

func TestGivenIDsAreNeverReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			return stored, nil
		})
		for range 20 {
			j := generated()
			j.Chosen = true
			id := j.ID
			require.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
			assert.Equal(t, id, j.ID)
			assert.Equal(t, []int{partition.BucketOfID(id) % 4}, at.at[id])
		}
	})
}

func TestBoundJobsOfAPartitionThatIsAwayNameIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDivided(t, 4, func(_ context.Context, i int, _ sentCall) (rdb.Enqueued, error) {
			if i == 3 {
				return rdb.Enqueued{}, errNoRedis
			}
			return stored, nil
		})
		jobs := []intake.Job{*ofLock(3), *generated(), *ofLock(2), *ofLock(7), *generated()}
		outcomes, errs := make([]intake.Outcome, len(jobs)), make([]error, len(jobs))
		require.NoError(t, d.PutAll(t.Context(), jobs, func(i int, result intake.Result) {
			outcomes[i], errs[i] = result.Outcome, result.Err
		}))
		assert.Equal(t, []intake.Outcome{intake.NotStored, intake.Stored, intake.Stored, intake.NotStored,
			intake.Stored}, outcomes)
		var of *partition.Error
		require.ErrorAs(t, errs[0], &of)
		assert.Equal(t, 3, of.Partition)
		require.ErrorIs(t, errs[0], errNoRedis)
		at, _ := ids.PartitionOf(jobs[2].ID)
		assert.Equal(t, 2, at)
	})
}

func TestManyJobsGoByTheirHomes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			return stored, nil
		})
		var jobs []intake.Job
		var homes []int
		for i := range 3000 {
			if i%3 == 0 {
				bucket := i % partition.Buckets
				jobs, homes = append(jobs, *ofLock(bucket)), append(homes, bucket%4)
				continue
			}
			jobs, homes = append(jobs, *generated()), append(homes, -1)
		}
		next := 0
		require.NoError(t, d.PutAll(t.Context(), jobs, func(i int, result intake.Result) {
			assert.Equal(t, next, i, "in their order")
			next++
			assert.Equal(t, intake.Stored, result.Outcome)
		}))
		require.Equal(t, len(jobs), next)
		anywhere := map[int]int{}
		for i := range jobs {
			require.Len(t, at.at[jobs[i].ID], 1, "stored once, under the id that is told")
			if where := at.at[jobs[i].ID][0]; homes[i] >= 0 {
				require.Equal(t, homes[i], where)
			} else {
				anywhere[where]++
			}
		}
		assert.Equal(t, map[int]int{0: 500, 1: 500, 2: 500, 3: 500}, anywhere, "whole calls, in turn")
	})
}

// fickle is an Uploads that notes what is there, and may fail.
type fickle struct {
	err  error
	have map[string]bool
}

func (f *fickle) Ensure(_ context.Context, hash string, _ []byte) error {
	if f.err == nil {
		f.have[hash] = true
	}
	return f.err
}
func (*fickle) Forget(string) {}
func (*fickle) ForgetAll()    {}

func TestObjectsAreWhereTheirJobIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		uploads := []*fickle{{have: map[string]bool{}}, {err: errNoRedis}, {have: map[string]bool{}}}
		var at landed
		d := newDivided(t, 3, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			assert.True(t, uploads[i].have["sha "+call.ids[0][:20]])
			return stored, nil
		})
		config := configured(d.stores[0])
		config.Uploads, config.Directory = uploads[0], d.atlas
		config.Others = func(i int) intake.Site { return intake.Site{Store: d.stores[i], Uploads: uploads[i]} }
		in := intake.New(config)
		defer closing(t, in)
		for range 30 {
			j := generated()
			j.Contents = map[string][]byte{"sha " + j.ID[:20]: []byte("content")}
			require.Equal(t, intake.Stored, in.Put(t.Context(), j).Outcome)
		}
		assert.Equal(t, []int{15, 0, 15}, at.per(3))
	})
}

func TestLossesOfEachPartitionAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDivided(t, 2, func(context.Context, int, sentCall) (rdb.Enqueued, error) { return stored, nil })
		told := &heard{}
		config := configured(d.stores[0])
		config.Lost, config.Directory = told.note, d.atlas
		config.Others = func(i int) intake.Site { return intake.Site{Store: d.stores[i]} }
		in := intake.New(config)
		defer closing(t, in)
		first, second := generated(), generated()
		in.Put(t.Context(), first)
		in.Put(t.Context(), second)
		d.stores[1].goBack(d.stores[1].sent()[0].lane, 0)
		elapse(31 * time.Second)
		synctest.Wait()
		losses := told.take()
		require.Len(t, losses, 1)
		assert.Equal(t, []string{second.ID}, losses[0].IDs)
	})
}

// A message that names everything: what is wrong, where, and with what.
func TestErrorOfAPartitionReads(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("job x is not stored: %w", &partition.Error{Partition: 2, Err: errNoRedis})
	assert.True(t, strings.HasSuffix(err.Error(), "partition 2: "+errNoRedis.Error()))
	assert.True(t, errors.Is(err, errNoRedis))
}
