package comingover_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/redistest"
)

// gocraftUnderLoad has pools of the old side that die with jobs in hand, too.
func gocraftUnderLoad(t *testing.T, f *figures) {
	redis := redistest.Dedicated(t)
	c := newCounts()
	g := newGocraft(t, redis.Addr(), c)
	pool(t, redis.DSN(), c, g.served...)
	b := bridge{dsn: redis.DSN(), library: "gocraft", flags: []string{"--from-namespace", "app"}}
	stop := g.start("first")
	held := 0
	l := load{T: t, bridge: b, counts: c, figures: f, enqueue: g.enqueue, stopOld: stop,
		meanwhile: func(n int) { held += g.die(fmt.Sprint("killed", n), 2) }}
	l.run()
	running, locks := g.left()
	assert.Zero(t, running, "counted by MaxConcurrency")
	assert.Zero(t, locks, "of unique jobs")
	t.Logf("%d were in the hands of pools that died", held)
}
