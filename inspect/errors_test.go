package inspect_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAGroupOfErrorsIsRetried: the digest of a group selects its jobs.
func TestAGroupOfErrorsIsRetried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mended atomic.Bool
		find := func(user int) error {
			switch {
			case mended.Load():
				return nil
			case user == 3:
				return errors.New("timeout")
			}
			return fmt.Errorf("user %d not found", user)
		}
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			JobWithOptions("find", work.JobOptions{Retries: -1}, find).
			JobWithOptions("send", work.JobOptions{Retries: -1}, find))
		var lost []string
		for user := range 5 {
			k.Enqueue("find", user)
			if id := k.Enqueue("send", user).ID; user != 3 {
				lost = append(lost, id)
			}
		}
		require.NoError(t, pool.Drain(k.Ctx()))
		i := k.inspector()
		var group inspect.ErrorGroup
		k.Until("the heartbeat has told", func() bool {
			groups, err := i.Errors(k.Ctx(), "send")
			require.NoError(t, err)
			if len(groups) < 2 {
				return false
			}
			group = groups[0]
			return group.Count == 4
		})
		assert.Equal(t, "user # not found", group.Message)
		hours, err := i.ErrorHours(k.Ctx(), group.Digest, "none")
		require.NoError(t, err)
		assert.Len(t, hours[group.Digest], 24)
		assert.EqualValues(t, 4, hours[group.Digest][22]+hours[group.Digest][23], "the hour may have ended meanwhile")
		assert.Equal(t, make([]int64, 24), hours["none"])
		found, err := i.Search(k.Ctx(), inspect.Selection{ErrorGroup: group.Digest}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Len(t, found.Jobs, 4)

		mended.Store(true)
		report, err := i.Bulk(k.Ctx(), inspect.Selection{State: work.StateDead, ErrorGroup: group.Digest},
			inspect.ActionRetryNow(), inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, report.Done)
		var done []string
		for range lost {
			done = append(done,
				pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return !slices.Contains(done, e.ID) }).ID)
		}
		assert.ElementsMatch(t, lost, done)
		assert.Equal(t, 6, k.Number("ZCARD", "morgue"), "all others stay")
	})
}
