package dsn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/dsn"
)

func TestTopPlaceHasNoPassword(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "localhost:6379/2", dsn.Place("redis://user:secret@localhost:6379/2?pool=3"))
	assert.Equal(t, "/run/redis.sock", dsn.Place("unix://:secret@/run/redis.sock"))
	assert.Empty(t, dsn.Place("redis://:secret%zz@localhost"))
}

func TestSeveralServersAreReadAsOneIs(t *testing.T) {
	t.Parallel()
	const open = "redis+sentinel://user@a:1,b:2/mymaster?db=3"
	assert.Equal(t, "redis+sentinel://user:p%40ss@a:1,b:2/mymaster?db=3", dsn.WithPassword(open, "p@ss"))
	assert.False(t, dsn.HasPassword(open))
	const closed = "redis+cluster://user:secret@a:1,b:2,[::1]:3?tls=true"
	assert.True(t, dsn.HasPassword(closed))
	assert.Equal(t, "a:1,b:2,[::1]:3", dsn.Place(closed))
	assert.Equal(t, "redis+cluster://user:xxxxx@a:1,b:2,[::1]:3", dsn.Redacted(closed))
}
