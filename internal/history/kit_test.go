package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
)

// took is what Redis answers to a report that it has taken.
const took = "1800000000000"

// kit is a counter with its reporter. What they send is looked at and goes nowhere.
type kit struct {
	*history.Counter
	*history.Reporter
	store   *rdb.Store
	trouble error
}

func newKit(clock *redisclock.Clock) *kit {
	k := &kit{Counter: history.NewCounter(clock), store: rdb.NewStore(nil, "ns")}
	k.Reporter = &history.Reporter{Counter: k.Counter, Store: k.store, Clock: clock, Lane: "lane",
		Health: func(err error) { k.trouble = err }}
	return k
}

// answer answers the call that is open.
func (k *kit) answer(text string) { k.Answered([]redisconn.Reply{{Value: []byte(text)}}) }

// flushed is what a stop reports, all together.
func (k *kit) flushed(t *testing.T) (all rdb.Tally) {
	t.Helper()
	for calls := k.Calls(true); len(calls) > 0; calls = k.Calls(true) {
		one := tallyOf(calls[0])
		all.Sums, all.Errors = append(all.Sums, one.Sums...), append(all.Errors, one.Errors...)
		k.answer(took)
		require.NoError(t, k.trouble)
	}
	return all
}

// tallyOf reads a call of [rdb.Store.Tally].
func tallyOf(call redisconn.Call) rdb.Tally {
	tally := rdb.Tally{Lane: call.Args[0].(string), Number: call.Args[1].(int64),
		At: time.UnixMilli(call.Args[2].(int64)).UTC()}
	args := call.Args[11:]
	for range call.Args[10].(int) {
		tally.Sums = append(tally.Sums, rdb.Sums{Name: args[0].(string), Counts: args[1].(string)})
		args = args[2:]
	}
	for ; len(args) > 0; args = args[6:] {
		tally.Errors = append(tally.Errors, rdb.ErrorCount{Digest: args[0].(string), Count: args[1].(int64),
			Must: args[2].(bool), Sample: args[3].(string), Name: args[4].(string), Message: args[5].(string)})
	}
	return tally
}

func callBytes(call redisconn.Call) (bytes int) {
	for _, arg := range call.Args {
		bytes += len(fmt.Sprint(arg))
	}
	return bytes
}

// done is an attempt that has just ended well, of a job that was due a second before it began.
func done(name string, took time.Duration) history.Attempt {
	begun := time.Now()
	return history.Attempt{Name: name, ID: "id of " + name, Result: history.Done, Took: took,
		Begun: begun, Due: begun.Add(-time.Second - time.Millisecond)}
}

// announced is what the reporter announces; false where there is nothing.
func (k *kit) announced() (told event.HistoryTold, any bool) {
	k.Announce("w", func(e event.Event) { told, any = e.(event.HistoryTold) })
	return told, any
}
