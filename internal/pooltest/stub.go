package pooltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
)

// NewStubEnqueuer makes an Enqueuer whose Redis is played. Within synctest its time is the bubble's.
func NewStubEnqueuer(t *testing.T, play func(ctx context.Context, call SentCall) (string, error)) (*work.Enqueuer,
	*StubDriver) {
	t.Helper()
	driver := &StubDriver{Play: play}
	enq := EnqueuerOn(driver, "test", work.LargeArgs(-1))
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	return enq, driver
}

// SentCall is one attempt as Redis would see it.
type SentCall struct {
	lane   string
	Number int64
	Ids    []string
	Nth    int // of all attempts, from 0
}

// StubReply is what Redis answers to an enqueue: its time.
const StubReply = "1732100000000"

// Sent are the attempts so far.
func (d *StubDriver) Sent() []SentCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]SentCall{}, d.calls...)
}

// StubDriver is a Redis that a test plays.
type StubDriver struct {
	redisconn.Driver
	Play func(ctx context.Context, call SentCall) (string, error)

	mu    sync.Mutex
	calls []SentCall
}

// Elapse lets the time of a synctest bubble pass, which takes none of ours.
func Elapse(d time.Duration) { <-time.After(d) }

// Close has nothing to close.
func (d *StubDriver) Close() error { return nil }

// Pipeline has the test answer.
func (d *StubDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	switch NameOf(calls[0]) {
	case "GET", "rights": // the layout and the rights, which an enqueuer asks for before its first call
		return make([]redisconn.Reply, len(calls)), nil
	case "HMGET": // what is known of its lanes, when it was quiet for long
		return []redisconn.Reply{{Value: make([]any, len(calls[0].Args)-1)}}, nil
	}
	sent := ReadCall(calls[0])
	d.mu.Lock()
	sent.Nth = len(d.calls)
	d.calls = append(d.calls, sent)
	d.mu.Unlock()
	reply, err := d.Play(ctx, sent)
	var refused *redisconn.ServerError
	switch {
	case errors.As(err, &refused) && !errors.As(err, new(*redisconn.DialError)):
		return []redisconn.Reply{{Err: err}}, nil
	case err != nil:
		return nil, err
	}
	return []redisconn.Reply{{Value: []byte(reply)}}, nil
}

// textOf is an argument as it stands on the wire.
func textOf(arg any) string {
	if text, is := redisconn.Plain(arg).([]byte); is {
		return string(text)
	}
	return fmt.Sprint(arg)
}

// ReadCall takes the arguments of enqueue.lua or enqueue_mixed.lua apart.
func ReadCall(call redisconn.Call) SentCall {
	sent := SentCall{lane: redisconn.Plain(call.Args[0]).(string)}
	// behind the number may stand the last one that was answered
	if _, err := fmt.Sscan(textOf(call.Args[1]), &sent.Number); err != nil {
		panic(err)
	}
	if NameOf(call) == "enqueue" {
		for at := 4; at < len(call.Args); at += 2 {
			sent.Ids = append(sent.Ids, redisconn.Plain(call.Args[at]).(string))
		}
		return sent
	}
	for at := 4 + call.Args[2].(int); at < len(call.Args); {
		place, size := call.Args[at+1].(string), call.Args[at+3].(int)
		at += 4
		for range size {
			sent.Ids = append(sent.Ids, redisconn.Plain(call.Args[at]).(string))
			at += 2
		}
		if strings.HasSuffix(place, "+") {
			at += 5 + 2*call.Args[at+4].(int)
		}
	}
	return sent
}
