package redisconn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
)

func TestRedigoDriver(t *testing.T) {
	t.Parallel()
	drivertest.Test(t, drivertest.Kit{Open: redisconn.Open, Probe: redisconn.SetProbe,
		Idle: redisconn.IdleConnections})
}

// open opens a DSN for the length of the test.
func open(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// do runs one call and returns its value; script is one that no server has seen.
var do, script = drivertest.Do, drivertest.Script
