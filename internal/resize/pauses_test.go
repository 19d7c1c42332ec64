package resize_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// operator is an Inspector that knows the map as it is now.
func (s *town) operator(t *testing.T, driver redisconn.Driver) *inspect.Inspector {
	t.Helper()
	i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: driver}), work.Namespace(s.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, i.Close()) })
	_, _, err = i.Paused(context.Background())
	require.NoError(t, err)
	return i
}

// paused are the names that are paused in a partition; "" stands for all.
func (s *town) paused(t *testing.T, i int) (names []string) {
	t.Helper()
	for _, name := range []string{"", "plain", "late", "uni"} {
		if rule := s.hash(t, i, "limits")[name]; rule != "" && rule[0] == '1' {
			names = append(names, name)
		}
	}
	return names
}

// between is a driver which tells before each round trip how many there were. It dies with the first one that follows
// the opening of partitions.
type between struct {
	redisconn.Driver
	mu   sync.Mutex
	n    int
	tell func(n int)
	die  context.CancelFunc
}

func (d *between) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if calls[0].Script != nil && calls[0].Script.Name == "partition/lead" {
		d.die()
		return nil, errDead
	}
	d.n++
	d.tell(d.n)
	return d.Driver.Pipeline(ctx, calls...)
}

// open makes a mover open partitions, and returns after how many round trips it has.
func (s *town) open(t *testing.T, n int, tell func(trip int)) int {
	t.Helper()
	ctx, die := context.WithCancel(context.Background())
	defer die()
	d := &between{Driver: s.driver, tell: tell, die: die}
	require.ErrorIs(t, resize.Begin(ctx, s.another(d), n, nil), errDead)
	require.NoError(t, s.directory.Refresh(context.Background()))
	require.Len(t, s.directory.Map().Open(), n)
	return d.n
}

// What is paused is so in those that are added before anything is stored there.
func TestWhatIsPausedIsSoInPartitionsThatAreAdded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, s.operator(t, s.driver).PauseQueue(ctx, "plain", "uni"))
		require.NoError(t, s.operator(t, s.driver).PauseAll(ctx))
		for _, n := range []int{2, 4} {
			opened := 0
			s.open(t, n, func(int) {
				m := s.another(s.driver)
				require.NoError(t, m.Refresh(ctx))
				for _, i := range m.Map().Open() {
					opened++
					assert.Equal(t, []string{"", "plain", "uni"}, s.paused(t, i), "partition %d", i)
				}
			})
			require.Greater(t, opened, n)
		}
	})
}

// Whoever pauses or resumes queues while partitions are added does so in all of them, whichever map he knows.
func TestAPauseAndAResumeBetweenAnyTwoRoundTripsOfAGrowth(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for at, last := 1, 1; at <= last; at++ {
			for _, later := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%d and %d", at, at+later), func(t *testing.T) {
					s := newTown(t, server)
					ctx := context.Background()
					before := s.operator(t, s.driver)
					require.NoError(t, before.PauseQueue(ctx, "plain"))
					require.NoError(t, before.PauseAll(ctx))
					last = s.open(t, 3, func(trip int) {
						switch trip {
						case at:
							require.NoError(t, before.ResumeQueue(ctx, "plain"))
							require.NoError(t, before.PauseQueue(ctx, "uni", "late"))
						case at + later:
							require.NoError(t, before.ResumeAll(ctx))
							require.NoError(t, before.ResumeQueue(ctx, "uni"))
						}
					})
					if at+later <= last {
						for i := range 3 {
							assert.Equal(t, []string{"late"}, s.paused(t, i), "partition %d", i)
						}
					}
				})
			}
		}
	})
}

// A partition that was closed knows what was paused then. What was said since is what counts.
func TestAPartitionThatIsOpenedAgainKnowsWhatWasSaidSince(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		require.NoError(t, s.operator(t, s.driver).PauseQueue(ctx, "plain", "late"))
		require.NoError(t, resize.To(ctx, s.directory, 1, nil))
		require.Equal(t, partition.Closed, s.directory.Map().State(1))
		require.NoError(t, s.operator(t, s.driver).ResumeQueue(ctx, "plain"))
		require.NoError(t, s.operator(t, s.driver).PauseQueue(ctx, "uni"))
		require.Equal(t, []string{"plain", "late"}, s.paused(t, 1))
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		for i := range 2 {
			assert.Equal(t, []string{"late", "uni"}, s.paused(t, i), "partition %d", i)
		}
	})
}

// Whoever goes on after a mover that has died in a growth leaves what is paused, and what was resumed meanwhile.
func TestAMoverDiesWhileItAddsPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for at, alive := 1, false; !alive; at++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d after=%v", at, after), func(t *testing.T) {
					s := newTown(t, server)
					ctx := context.Background()
					i := s.operator(t, s.driver)
					require.NoError(t, i.PauseQueue(ctx, "plain", "late"))
					d := &dying{at: at, after: after}
					require.Error(t, s.to(d, 3))
					alive = d.seen["partition/lead"] > 0
					require.NoError(t, i.ResumeQueue(ctx, "plain"))
					s.cmd(t, 0, "UNLINK", "mover")
					s.open(t, 3, func(int) {})
					for n := range 3 {
						assert.Equal(t, []string{"late"}, s.paused(t, n), "partition %d", n)
					}
				})
			}
		}
	})
}

// Others close the partitions and begin to add them anew while a mover adds them: what was said in between is not
// missed, since it reads all of it again.
func TestPartitionsThatAreClosedAndAddedAnewMeanwhile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for at, last := 1, 1; at <= last; at++ {
			t.Run(fmt.Sprint(at), func(t *testing.T) {
				s := newTown(t, server)
				ctx := context.Background()
				told := false
				last = s.open(t, 3, func(trip int) {
					if trip != at {
						return
					}
					require.NoError(t, s.directory.Refresh(ctx))
					if len(s.directory.Map().Open()) > 1 || s.directory.Map().Single() {
						return
					}
					told = true
					require.NoError(t, resize.To(ctx, s.directory, 1, nil))
					require.NoError(t, s.operator(t, s.driver).PauseQueue(ctx, "uni"))
					require.ErrorIs(t, s.to(&dying{at: 1, named: "HSCAN"}, 3), errKilled)
				})
				if told {
					for i := range 3 {
						assert.Equal(t, []string{"uni"}, s.paused(t, i), "partition %d", i)
					}
				}
			})
		}
	})
}

// Those who do the maintenance do not close a partition that is there to be opened.
func TestAPartitionThatIsToBeOpenedIsNotClosed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		s.open(t, 3, func(trip int) {
			require.Less(t, trip, 100, "they are closed again and again")
			require.NoError(t, s.directory.Refresh(context.Background()))
			for i := range s.directory.Map().Len() {
				_, err := resize.Settle(context.Background(), s.directory, i)
				require.NoError(t, err)
			}
		})
	})
}

// Where they are closed before the mover looks again it adds them anew.
func TestPartitionsThatAreClosedAtOnceAreAddedAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, s.operator(t, s.driver).PauseQueue(ctx, "plain"))
		closed := false
		s.open(t, 3, func(int) {
			require.NoError(t, s.directory.Refresh(ctx))
			if m := s.directory.Map().Clone(); !closed && !m.Single() {
				closed = true
				m.States[1], m.States[2] = partition.Closed, partition.Closed
				m.Version++
				partitiontest.WriteMap(t, s.driver, s.namespace, m)
			}
		})
		for i := range 3 {
			assert.Equal(t, []string{"plain"}, s.paused(t, i), "partition %d", i)
		}
	})
}
