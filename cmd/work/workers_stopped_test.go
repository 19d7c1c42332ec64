package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func TestAWorkerIsToldToStopAtOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	driver, err := redisconn.Open(s.Server.DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, driver.Close()) }()
	store := rdb.NewStore(driver, "work")
	_, _, err = store.Worker("w1").Register(t.Context(),
		rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{"mail"}})
	require.NoError(t, err)
	for _, row := range []struct {
		flag string
		now  string
	}{{"", ""}, {"--now", "1"}} {
		args := append([]string{"workers", "stop", "w1", "-y"}, strings.Fields(row.flag)...)
		assert.Equal(t, exit.OK, s.call(args...).status)
		profiles, err := store.ProfileOf(t.Context(), []string{"w1"})
		require.NoError(t, err)
		assert.Equal(t, "stop", profiles[0].Info["wanted"])
		assert.Equal(t, row.now, profiles[0].Info["now"], row.flag)
	}
	assert.Equal(t, exit.Usage, s.call("workers", "quiet", "w1", "--now").status, "only a stop can be")
}

func TestWorkersThatHaveStoppedAreListed(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	none := s.call("workers", "--stopped", "--namespace", "other")
	assert.Equal(t, said{exit.OK, "", "work workers: no worker has stopped within a week\n"}, none)

	driver, err := redisconn.Open(s.Server.DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, driver.Close()) }()
	w := rdb.NewStore(driver, "work").Worker("w1")
	_, _, err = w.Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{"mail"}})
	require.NoError(t, err)
	_, gone, err := w.Forget(t.Context(), []string{"mail"}, `died {"host":"h1","pid":7,"ended":1000,"ran":{"done":12,`+
		`"failed":3,"dead":1,"names":[{"name":"mail","done":12,"failed":3,"dead":1}],"left_out":2},"held":{"jobs":4}}`)
	require.NoError(t, err)
	require.True(t, gone)
	for _, args := range [][]string{{"workers", "--stopped"}, {"workers", "list", "--stopped"}} {
		lines := strings.Split(s.call(args...).out, "\n")
		require.Len(t, lines, 4)
		assert.Equal(t, "WORKER HOST PID ENDED WHY UP DONE FAILED DEAD HELD NAMES",
			strings.Join(strings.Fields(lines[0]), " "))
		row := strings.Join(strings.Fields(lines[1]), " ")
		assert.Regexp(t, `^w1 h1 7 1970-01-01.* died \S+ 12 3 1 4 mail, 2 more$`, row)
		assert.Contains(t, lines[2], "stopped", "the shop was filled by another")
	}
	assert.Contains(t, s.call("workers", "--stopped", "--json").out,
		`"why":"died","host":"h1","pid":7,"ended":"1970-01-01T00:00:01Z","ran":{"done":12,"failed":3,"dead":1}`)
}
