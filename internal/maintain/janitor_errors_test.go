package maintain

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

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
