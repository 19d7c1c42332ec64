package work

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// messages are those of a job's log.
func (k *kit) messages(id string) []string {
	k.t.Helper()
	lines, err := k.inspector().Log(k.ctx(), id, 0)
	require.NoError(k.t, err)
	return messagesOf(lines)
}

func messagesOf(lines []LogLine) []string {
	messages := make([]string, len(lines))
	for i, line := range lines {
		messages[i] = line.Message
	}
	return messages
}

// left are the logs and states in the namespace.
func (k *kit) left() []string {
	k.t.Helper()
	return append(k.remains(":log:"), k.remains(":state:")...)
}

// logged waits until Redis has so many lines of a job.
func (k *kit) logged(id string, lines int) {
	k.t.Helper()
	k.until("the log has the lines", func() bool { return k.number("LLEN", "log:"+id) == lines+1 })
}

// loseReplies makes the pool lose the first reply of each script of that name, after Redis has executed it.
func (k *kit) loseReplies(pool *WorkerPool, script string, calls func(sent int) bool) {
	k.t.Helper()
	sent := 0
	gate := make(chan struct{}, 1)
	k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, batch []rdb.Call) ([]rdb.Reply, error) {
		replies, err := pass(ctx, batch...)
		if nameOf(batch[0]) != script {
			return replies, err
		}
		gate <- struct{}{}
		defer func() { <-gate }()
		if sent++; calls(sent) {
			return nil, errLuck
		}
		return replies, err
	}})
}

// stateIn is what stands in Redis as the state of a job.
func (k *kit) stateIn(id string) string {
	k.t.Helper()
	var saved struct{ State json.RawMessage }
	text := k.text("GET", "state:"+id)
	if text == "" {
		return ""
	}
	require.NoError(k.t, json.Unmarshal([]byte(text), &saved))
	return string(saved.State)
}

// noTrouble checks that nothing was reported.
func (k *kit) noTrouble(t *testing.T) {
	t.Helper()
	assert.Empty(t, troubles(k.spy))
	assert.Empty(t, seen[event.LoopPanicked](k.spy))
}

// troubles are what was reported, but for what took too long: a heartbeat may, on a machine that stalls.
func troubles(s *spy) (all []event.Trouble) {
	for _, e := range seen[event.Trouble](s) {
		var slow net.Error
		if !errors.Is(e.Err, context.DeadlineExceeded) && (!errors.As(e.Err, &slow) || !slow.Timeout()) {
			all = append(all, e)
		}
	}
	return all
}
