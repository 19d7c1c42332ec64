package pools_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// On any other Redis it says so at once, since scripts would fail in the middle of the work. make servers runs this on
// an old one too, where there is one.
func TestAPoolStartsOnARedisThatKnowsWhatItsScriptsNeed(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Dedicated(t).Server())
	driver, err := redisconn.Open(k.Server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	_, err = redisconn.Do(k.Ctx(), driver, redisconn.Call{Command: "SINTERCARD", Args: []any{1, "nothing"}})
	knows := err == nil
	if !knows {
		require.ErrorContains(t, err, "nknown command")
	}
	pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
	err = pool.Start(k.Ctx())
	if knows {
		require.NoError(t, err)
		require.NoError(t, pool.Stop(k.Ctx()))
		return
	}
	var invalid *work.InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.Regexp(t, `the version of Redis.*\b[56]\.[0-9.]+.*use 7\.0 or newer`, err.Error())
}
