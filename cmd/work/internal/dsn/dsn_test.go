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
