package divided_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
)

// pair is a flow of two members, the second of which waits for the first.
func pair(id string, names ...string) *flow.Flow {
	f := flow.New(id).OnDone("end")
	first := f.Job(names[0]).Named("first")
	f.Job(names[len(names)-1]).Named("second").After(first)
	return f
}

// homeOfFlow is the only partition that has a flow.
func (s *shop) homeOfFlow(id string) int {
	s.t.Helper()
	var at []int
	for i := range s.m.Len() {
		if s.do(i, "EXISTS", "flow:"+id).(int64) == 1 {
			at = append(at, i)
		}
	}
	require.Len(s.t, at, 1, "flow %s", id)
	return at[0]
}

// A flow is in one partition with all of its members, and stays there when the map changes: whoever stores it again, or
// asks for it, finds it.
func TestAFlowIsInOnePartition(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		homes := map[string]int{}
		for i := range 12 {
			id := fmt.Sprint("order-", i)
			receipt, err := flow.Enqueue(t.Context(), s.Enqueuer, pair(id, "a"))
			require.NoError(t, err)
			assert.Equal(t, flow.Receipt{ID: id, Jobs: 2}, receipt)
			homes[id] = s.homeOfFlow(id)
			assert.Equal(t, s.m.At(partition.BucketOfFlow(id)), homes[id])
			assert.Equal(t, homes[id], s.home(id+"/first"))
			assert.EqualValues(t, 1, s.do(homes[id], "HEXISTS", "flow.records:"+id, "second"))
		}
		old := s.another()
		_, err := flow.Read(t.Context(), old, "order-1")
		require.NoError(t, err)
		s.change(func(m *partition.Map) {
			for bucket := range m.Buckets {
				m.Buckets[bucket] = (m.Buckets[bucket] + 1) % 4
			}
		})
		for i, enq := range []*work.Enqueuer{s.Enqueuer, old, s.another()} {
			for id, home := range homes {
				receipt, err := flow.Enqueue(t.Context(), enq, pair(id, "a"))
				require.NoError(t, err)
				require.Equal(t, flow.Receipt{ID: id, Jobs: 2, Duplicate: true}, receipt)
				require.Equal(t, home, s.homeOfFlow(id))
				p, err := flow.Read(t.Context(), enq, id)
				require.NoError(t, err)
				require.Equal(t, flow.Running, p.State)
			}
			id := fmt.Sprint("new-", i)
			_, err := flow.Enqueue(t.Context(), enq, pair(id, "a"))
			require.NoError(t, err)
			assert.Equal(t, s.m.At(partition.BucketOfFlow(id)), s.homeOfFlow(id))
		}
	})
}

// A map that changes while a flow is being stored: who goes by the old one is refused, and goes by the new one.
func TestAFlowIsStoredByTheNewestMap(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		id := "order"
		for n := 0; s.m.At(partition.BucketOfFlow(id)) != 1; n++ {
			id = fmt.Sprint("order-", n)
		}
		receipt, err := flow.Batch(t.Context(), s.Enqueuer, id, func(yield func(work.Entry) bool) {
			s.change(func(m *partition.Map) { m.Buckets[partition.BucketOfFlow(id)] = 2 })
			for i := range 700 {
				if i == 600 { // what is stored already stays
					s.change(func(m *partition.Map) { m.Buckets[partition.BucketOfFlow(id)] = 0 })
				}
				if !yield(work.Entry{Name: "a", Args: []any{i}}) {
					return
				}
			}
		})
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: id, Jobs: 700}, receipt)
		assert.Equal(t, 2, s.homeOfFlow(id))
		assert.EqualValues(t, 700, s.do(2, "LLEN", "queue:a"))
	})
}

// A name that is limited has one home, and binds the flow; names with two homes cannot be in one.
func TestALimitedNameBindsItsFlow(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		bound := []string{}
		for n := 0; len(bound) < 2; n++ {
			name := fmt.Sprint("limited-", n)
			if s.m.At(partition.BucketOfName(name)) == 1+len(bound) {
				bound = append(bound, name)
			}
		}
		slices.Sort(bound)
		s.change(func(m *partition.Map) { m.Bound = bound })
		for i := range 8 {
			id := fmt.Sprint("order-", i)
			_, err := flow.Enqueue(t.Context(), s.Enqueuer, pair(id, "a", bound[1]))
			require.NoError(t, err)
			assert.Equal(t, s.m.At(partition.BucketOfName(bound[1])), s.homeOfFlow(id))
		}
		_, err := flow.Enqueue(t.Context(), s.Enqueuer, pair("both", bound...))
		require.NoError(t, err)
		homes := []int{s.m.At(partition.BucketOfName(bound[0])), s.m.At(partition.BucketOfName(bound[1]))}
		assert.Equal(t, homes[0], s.homeOfFlow("both"))
		assert.EqualValues(t, 1, s.do(homes[1], "EXISTS", "flow:both/second"), "it is lodged where it is at home")
		f := pair("end", bound[0], "a")
		f.OnDone(bound[1])
		_, err = flow.Enqueue(t.Context(), s.Enqueuer, f)
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.EqualError(t, err, fmt.Sprintf(`the job at the end "@done" of flow "end" is bound to partition %d, `+
			`as the name %q is limited, and the flow to partition %d: have that job enqueue another one, `+
			`which then lives where it belongs`, homes[1], bound[1], homes[0]))
	})
}

// A member that is unique meets the others of its kind where these are, and one with a key its turn: what binds a job
// binds its flow, and a flow cannot be in two places.
func TestALockAndAKeyBindTheirFlow(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		alike := func(key string) work.EnqueueOption { return work.Unique(work.UniqueOptions{Key: key}) }
		homes := map[int]string{}
		for i := range 12 {
			key := fmt.Sprint("key-", i)
			f := flow.New(fmt.Sprint("f", i))
			f.Job("a").Named("b").With(alike(key)).After(f.Job("a").Named("first"))
			_, err := flow.Enqueue(t.Context(), s.Enqueuer, f)
			require.NoError(t, err)
			receipt, err := s.Enqueuer.With(alike(key)).Enqueue(t.Context(), "a")
			require.NoError(t, err)
			assert.Equal(t, f.ID()+"/b", receipt.ID)
			assert.True(t, receipt.Duplicate)
			homes[s.homeOfFlow(f.ID())] = key

			f = flow.New(fmt.Sprint("g", i))
			f.Job("a").With(work.Key(key))
			_, err = flow.Enqueue(t.Context(), s.Enqueuer, f)
			require.NoError(t, err)
			assert.Equal(t, s.m.At(partition.BucketOfKey("a", key)), s.homeOfFlow(f.ID()))
		}
		require.Greater(t, len(homes), 1)
		f := flow.New("both")
		for home, key := range homes {
			f.Job("b").Named(fmt.Sprint("in ", home)).With(alike(key))
		}
		_, err := flow.Enqueue(t.Context(), s.Enqueuer, f)
		require.NoError(t, err)
		for _, key := range homes { // wherever the member is, it has the lock where that is
			receipt, err := s.Enqueuer.With(alike(key)).Enqueue(t.Context(), "b")
			require.NoError(t, err)
			assert.True(t, receipt.Duplicate)
			assert.Contains(t, receipt.ID, "both/in ")
		}
	})
}

// While a partition is away a flow may be there already; one whose id was made just now is not.
func TestAPartitionThatIsAwayMayHaveAFlow(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		_, err := flow.Read(t.Context(), s.Enqueuer, "other") // it knows the map
		require.ErrorIs(t, err, flow.ErrNoFlow)
		s.outages.Set(2, partitiontest.Loading)
		for n, stored := 0, 0; stored < 2; n++ {
			require.Less(t, n, 100)
			f := pair("", "a")
			if s.m.At(partition.BucketOfFlow(f.ID())) == 2 {
				continue
			}
			stored++
			_, err := flow.Enqueue(t.Context(), s.Enqueuer, f)
			require.NoError(t, err)
			s.homeOfFlow(f.ID())
		}
		want := `flow "order" is not stored, since it may be there already: partition 2: `
		// a busy machine needs more to hear of the others
		for given := 300 * time.Millisecond; given < time.Minute; given *= 2 {
			_, err = flow.Enqueue(soon(t, given), s.Enqueuer, pair("order", "a"))
			if err == nil || strings.Contains(err.Error(), want) {
				break
			}
		}
		require.ErrorContains(t, err, want)
		s.outages.Up(2)
		_, err = flow.Enqueue(t.Context(), s.Enqueuer, pair("order", "a"))
		require.NoError(t, err)
	})
}
