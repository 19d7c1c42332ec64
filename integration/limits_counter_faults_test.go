package integration

import (
	"context"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultALimitIsCountedByItsHandlers has the handlers count themselves in a second Redis, while their processes are
// killed and the limit changes. What a killed process had counted is taken out by hand: its jobs count towards the
// limit until they are taken back, so none may begin in their place before.
func TestFaultALimitIsCountedByItsHandlers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	inspector := f.inspector()
	second := redistest.Dedicated(t)
	counter, err := redis.DialURL(second.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = counter.Close() })
	do := func(command string, args ...any) {
		_, err := counter.Do(command, args...)
		require.NoError(t, err)
	}
	limit := func(n int) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, inspector.SetLimit(ctx, "counted", work.Limit{Concurrent: n}))
	}
	most := func() int {
		n, err := redis.Int(counter.Do("GET", "most"))
		require.NoError(t, err)
		return n
	}
	over := 0
	more := func(n int) { // waits until so many more have ended
		over += n
		f.ledger.await(t, ended, 0, over)
	}
	kill := func(p *process) {
		p.kill()
		do("HDEL", "running", p.pid)
		over = len(f.ledger.of(ended, 0))
	}

	limit(6)
	first, other := f.start(20), f.start(20)
	f.start(20)
	f.enqueue(600, "counted", second.Addr(), 10)
	more(60)
	kill(first)
	more(60)
	assert.Equal(t, 6, most(), "all of the room is used, and no more")

	limit(3)
	more(10) // those that had begun under the limit of before
	do("SET", "most", 0)
	more(60)
	kill(other)
	more(60)
	assert.LessOrEqual(t, most(), 3, "less while the jobs of the killed ones are not back yet")

	limit(7)
	do("SET", "most", 0)
	f.settled()
	assert.LessOrEqual(t, most(), 7)
	limit(5)
	do("SET", "most", 0)
	f.enqueue(40, "counted", second.Addr(), 100)
	f.settled()
	assert.Equal(t, 5, most(), "the room equals the limit again")
	f.explained()
	f.healthy()
}
