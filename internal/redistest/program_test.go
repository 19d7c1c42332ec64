package redistest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
)

func TestTheNamedServerIsStarted(t *testing.T) {
	Dedicated(t) // skips where there is none
	server, err := program()
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "other-server")
	require.NoError(t, os.Symlink(server, other))
	t.Setenv("WORK_REDIS_SERVER", other)
	says, err := redisconn.Do(t.Context(), open(t, Dedicated(t).DSN()), redisconn.Call{Command: "INFO",
		Args: []any{"server"}})
	require.NoError(t, err)
	assert.Contains(t, string(says.([]byte)), "executable:"+other+"\r\n")
}

// Figures that say a version must not be those of the one on PATH.
func TestANamedServerThatIsMissingIsNotReplaced(t *testing.T) {
	t.Setenv("WORK_REDIS_SERVER", filepath.Join(t.TempDir(), "none"))
	t.Setenv("WORK_TEST_REDIS", "")
	t.Setenv("WORK_REDIS_ADDR", "")
	_, _, err := startShared()
	require.ErrorContains(t, err, "none\" is no program: give the path of a redis-server or valkey-server")
}
