package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// storeGroups writes n groups of a name, the last of them the newest.
func (k *kit) storeGroups(name string, n int, newest time.Time) {
	k.t.Helper()
	var fields []any
	for i := range n {
		at := newest.Add(time.Duration(i-n) * time.Second).UnixMilli()
		fields = append(fields, fmt.Sprint(name, i), fmt.Sprintf("1 %d %d\x00id\x00%s\x00m %d", at, at, name, i))
	}
	k.do("HSET", "errors", fields...)
}

func TestGroupsOfErrorsAreTrimmed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.storeGroups("many", maxErrorGroups+10, time.Now())
		k.storeGroups("few", 3, time.Now())
		k.storeGroups("old", 3, time.Now().Add(-errorGroupLife))
		k.do("HSET", "errors", "broken", "what?")
		pool := k.tidy(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		k.until("the surplus is gone", func() bool { return k.number("HLEN", "errors") == maxErrorGroups+3 })
		i := pool.Inspector()
		groups, err := i.Errors(k.ctx(), "many")
		require.NoError(t, err)
		assert.Len(t, groups, maxErrorGroups)
		for _, g := range groups {
			assert.NotContains(t, []string{"many0", "many9"}, g.Digest, "the oldest have gone")
		}
		groups, err = i.Errors(k.ctx(), "few")
		require.NoError(t, err)
		assert.Len(t, groups, 3)
	})
}

// TestSurplusErrors is about all names together, and leaves a tenth free.
func TestSurplusErrors(t *testing.T) {
	t.Parallel()
	now := time.Now()
	byName := map[string][]rdb.ErrorGroup{}
	for n := range 12 {
		name := fmt.Sprint("n", n)
		for i := range 900 {
			byName[name] = append(byName[name], rdb.ErrorGroup{
				ErrorCount: rdb.ErrorCount{Digest: fmt.Sprint(name, " ", i), Name: name},
				Last:       now.Add(-time.Duration(i) * time.Minute),
			})
		}
	}
	surplus := surplusErrors(byName, now)
	require.Len(t, surplus, 12*900-rdb.MaxErrorGroups*9/10)
	for _, g := range surplus {
		assert.GreaterOrEqual(t, now.Sub(g.Last), 750*time.Minute, "those of all names that are the oldest")
	}
	assert.Empty(t, surplusErrors(map[string][]rdb.ErrorGroup{"n": {{Last: now}}}, now))
}
