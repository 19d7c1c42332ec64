package work_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
)

// newStubEnqueuer makes an Enqueuer whose Redis is played. Within synctest its time is the bubble's.
func newStubEnqueuer(t *testing.T, play func(ctx context.Context, call sentCall) (string, error)) (*work.Enqueuer,
	*stubDriver) {
	t.Helper()
	driver := &stubDriver{play: play}
	enq := pooltest.EnqueuerOn(driver, "test", work.LargeArgs(-1))
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	return enq, driver
}

// sentCall is one attempt as Redis would see it.
type sentCall struct {
	lane   string
	number int64
	ids    []string
	nth    int // of all attempts, from 0
}

const stubReply = "1732100000000"

func (d *stubDriver) sent() []sentCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]sentCall{}, d.calls...)
}

// stubDriver is a Redis that a test plays.
type stubDriver struct {
	redisconn.Driver
	play func(ctx context.Context, call sentCall) (string, error)

	mu    sync.Mutex
	calls []sentCall
}

// elapse lets the time of a synctest bubble pass, which takes none of ours.
func elapse(d time.Duration) { <-time.After(d) }

func (d *stubDriver) Close() error { return nil }

func (d *stubDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	sent := readCall(calls[0])
	d.mu.Lock()
	sent.nth = len(d.calls)
	d.calls = append(d.calls, sent)
	d.mu.Unlock()
	reply, err := d.play(ctx, sent)
	var refused *redisconn.ServerError
	switch {
	case errors.As(err, &refused) && !errors.As(err, new(*redisconn.DialError)):
		return []redisconn.Reply{{Err: err}}, nil
	case err != nil:
		return nil, err
	}
	return []redisconn.Reply{{Value: []byte(reply)}}, nil
}

// readCall takes the arguments of enqueue.lua or enqueue_mixed.lua apart.
func readCall(call redisconn.Call) sentCall {
	sent := sentCall{lane: call.Args[0].(string), number: call.Args[1].(int64)}
	if pooltest.NameOf(call) == "enqueue" {
		for at := 4; at < len(call.Args); at += 2 {
			sent.ids = append(sent.ids, call.Args[at].(string))
		}
		return sent
	}
	for at := 4 + call.Args[2].(int); at < len(call.Args); {
		place, size := call.Args[at+1].(string), call.Args[at+3].(int)
		at += 4
		for range size {
			sent.ids = append(sent.ids, call.Args[at].(string))
			at += 2
		}
		if strings.HasSuffix(place, "+") {
			at += 5 + 2*call.Args[at+4].(int)
		}
	}
	return sent
}
