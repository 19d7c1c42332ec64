package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestServerTellsWhatRedisIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		i, err := inspect.New(s.DSN(), work.Namespace(redistest.Namespace(t)))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, i.Close()) })
		info, err := i.Server(t.Context())
		require.NoError(t, err)
		assert.Positive(t, info.RoundTrip)
		assert.False(t, info.Now.IsZero())
		if s.Embedded() != nil {
			return // it says nothing more
		}
		assert.Regexp(t, `^\d+\.\d+`, info.Version)
		assert.Equal(t, "master", info.Role)
		assert.Positive(t, info.MemoryUsed)
		assert.Positive(t, info.Clients)
		assert.Positive(t, info.CPU)
	})
}

func TestServerSaysWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		facts  rdb.ServerFacts
		failed bool
	}{
		"all is well": {rdb.ServerFacts{SaveStatus: "ok", AppendOnly: true, WriteStatus: "ok"},
			false},
		"a snapshot failed": {rdb.ServerFacts{SaveStatus: "err"}, true},
		"the file cannot be written": {rdb.ServerFacts{SaveStatus: "ok", AppendOnly: true, WriteStatus: "err"},
			true},
		"there is no file to be written to": {rdb.ServerFacts{SaveStatus: "ok", WriteStatus: "err"}, false},
		"nothing is said":                   {rdb.ServerFacts{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.failed, inspect.ServerInfoOf(row.facts).SaveFailed)
		})
	}
	assert.True(t, inspect.ServerInfoOf(rdb.ServerFacts{}).LastSave.IsZero())
	assert.Equal(t, time.Unix(7, 0), inspect.ServerInfoOf(rdb.ServerFacts{LastSave: 7}).LastSave)
}
