package joblog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
)

// answers is a Redis that answers each call with the next word, "logged" where there is none.
type answers struct {
	redisconn.Driver

	mu    sync.Mutex
	words []string
	sent  []sent
}

// sent is a batch that came.
type sent struct {
	number int64
	lines  []string
}

func (a *answers) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		one := sent{number: call.Args[2].(int64)}
		for _, line := range call.Args[8:] {
			one.lines = append(one.lines, joblog.Decode(line.([]byte)).Message)
		}
		a.sent = append(a.sent, one)
		word := "logged"
		if len(a.words) > 0 {
			word, a.words = a.words[0], a.words[1:]
		}
		replies[i] = redisconn.Reply{Value: []byte(word)}
		if code, refused := strings.CutPrefix(word, "-"); refused {
			replies[i] = redisconn.Reply{Err: &redisconn.ServerError{Code: code, Message: code}}
		}
	}
	return replies, nil
}

func (a *answers) seen() []sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

// kit is a flusher, the log of one attempt, and what happened.
type kit struct {
	flusher *joblog.Flusher
	log     *joblog.Log
	redis   *answers
	noted   atomic.Int32

	mu     sync.Mutex
	events []event.Event
}

func (k *kit) told() []event.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.events)
}

// newKit begins the flusher at the first line, for as long as the test runs.
func newKit(ctx context.Context, words ...string) *kit {
	k := &kit{redis: &answers{words: words}}
	store := rdb.NewStore(k.redis, "ns")
	k.flusher = joblog.NewFlusher(store, &redisclock.Clock{}, func(e event.Event) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.events = append(k.events, e)
	})
	var once sync.Once
	k.flusher.Start = func() { once.Do(func() { go k.flusher.Run(ctx) }) }
	k.log = k.flusher.New(joblog.Attempt{
		Worker: store.Worker("w"), Claim: rdb.Claim{Element: "1:id", Queue: "long"}, ID: "id", Named: "long id",
		Number: 1, Note: func() rdb.Note { return rdb.Note{} }, Noted: func() { k.noted.Add(1) },
	}, nil)
	return k
}

func (k *kit) say(from, to int) {
	for n := from; n <= to; n++ {
		k.log.Logger().Info(fmt.Sprint(n))
	}
}

// within runs a test in a bubble of its own, whose time is the test's.
func within(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		test(t, ctx)
	})
}

// elapse lets time pass in the bubble.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func numbers(batches []joblog.Batch) (all []int64) {
	for _, b := range batches {
		all = append(all, b.Call.Args[2].(int64))
	}
	return all
}

func TestLinesAreSentTogetherWhileTheAttemptRuns(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, ctx context.Context) {
		k := newKit(ctx)
		assert.False(t, k.log.Used())
		k.say(1, 3)
		assert.True(t, k.log.Used())
		elapse(100 * time.Millisecond)
		assert.Empty(t, k.redis.seen(), "more may come")
		elapse(200 * time.Millisecond)
		assert.Equal(t, []sent{{1, []string{"1", "2", "3"}}}, k.redis.seen())
		k.say(4, 67)
		elapse(time.Millisecond)
		assert.Len(t, k.redis.seen()[1].lines, 64, "so many are not kept waiting")
		assert.EqualValues(t, 2, k.noted.Load())
		k.log.End()
		assert.Empty(t, k.log.Rest())
		assert.NoError(t, k.log.Abandon())
		assert.Empty(t, k.told())
	})
}

// TestTheFlusherLeavesALogAloneOnceItsAttemptIsOver: what is left goes with the outcome.
func TestTheFlusherLeavesALogAloneOnceItsAttemptIsOver(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, ctx context.Context) {
		k := newKit(ctx)
		k.say(1, 150)
		k.log.End()
		k.log.Logger().Info("too late")
		synctest.Wait() // a full batch may be under way by now
		sentBefore := k.redis.seen()
		elapse(time.Minute)
		assert.Len(t, k.redis.seen(), len(sentBefore))
		rest := k.log.Rest()
		assert.Equal(t, numbers(rest), numbers(k.log.Rest()), "the same until it was answered")
		lines := 0
		for _, batch := range sentBefore {
			lines += len(batch.lines)
		}
		for _, b := range rest {
			lines += len(b.Call.Args[8:])
			b.Answered(rdb.Logged{})
		}
		assert.Equal(t, 150, lines)
		assert.Empty(t, k.log.Rest())
		assert.EqualValues(t, len(sentBefore)+len(rest), k.noted.Load(), "each batch")
		assert.NoError(t, k.log.Abandon())
	})
}

// TestWhatIsUnderWayGoesWithTheOutcomeToo: Redis takes a batch once, and nobody knows whether it comes in time.
func TestWhatIsUnderWayGoesWithTheOutcomeToo(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, ctx context.Context) {
		k := newKit(ctx, "-OOM", "-OOM", "-OOM", "-OOM", "-OOM")
		k.say(1, 2)
		elapse(time.Second)
		require.NotEmpty(t, k.told())
		assert.Equal(t, joblog.Component, k.told()[0].(event.Trouble).Component)
		k.say(3, 4)
		k.log.End()
		rest := k.log.Rest()
		assert.Equal(t, []int64{1, 2}, numbers(rest), "in order")
		rest[0].Answered(rdb.Logged{})
		rest[1].Answered(rdb.Logged{})
		assert.NoError(t, k.log.Abandon())
	})
}

func TestWhatIsLostWithTheOutcomeIsTold(t *testing.T) {
	t.Parallel()
	full := &redisconn.ServerError{Code: "OOM"}
	wrong := &redisconn.ServerError{Code: "WRONGTYPE"}
	for name, tt := range map[string]struct {
		answers []rdb.Logged // of two batches
		left    int
		lost    error
	}{
		"nothing":                   {[]rdb.Logged{{}, {}}, 0, nil},
		"the claim is gone":         {[]rdb.Logged{{Gone: true}, {Gone: true}}, 0, nil},
		"no room":                   {[]rdb.Logged{{Err: full}, {Err: full}}, 2, full},
		"no room for the second":    {[]rdb.Logged{{}, {Err: full}}, 1, full},
		"the second before another": {[]rdb.Logged{{Err: full}, {}}, 0, full},
		"the log itself is wrong":   {[]rdb.Logged{{Err: wrong}, {Err: wrong}}, 0, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, func(t *testing.T, ctx context.Context) {
				k := newKit(ctx)
				k.say(1, 65)
				k.log.End()
				rest := k.log.Rest()
				require.Len(t, rest, 2)
				for i, answer := range tt.answers {
					rest[i].Answered(answer)
				}
				assert.Len(t, k.log.Rest(), tt.left, "what may be tried again")
				if tt.lost == nil {
					assert.NoError(t, k.log.Abandon())
					return
				}
				require.ErrorIs(t, k.log.Abandon(), tt.lost)
				assert.Empty(t, k.log.Rest())
				assert.Equal(t, event.Trouble{Component: "log flusher, log of long id", Err: tt.lost},
					k.log.Lost(tt.lost))
			})
		})
	}
}

// TestALogThatIsWrongIsGivenUpAtOnce: trying again makes no sense, and other logs go on.
func TestALogThatIsWrongIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, ctx context.Context) {
		k := newKit(ctx, "-WRONGTYPE")
		k.say(1, 1)
		elapse(time.Second)
		require.Len(t, k.told(), 1)
		trouble := k.told()[0].(event.Trouble)
		assert.Equal(t, "log flusher, log of long id", trouble.Component)
		var refusal *redisconn.ServerError
		require.True(t, errors.As(trouble.Err, &refusal))
		k.say(2, 2)
		elapse(time.Second)
		assert.Len(t, k.redis.seen(), 1)
		assert.NoError(t, k.log.Abandon(), "it was told")
	})
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, ctx context.Context) {
		k := newKit(ctx)
		k.flusher.Start = func() {} // Redis takes nothing
		k.say(1, 3000)
		k.log.End()
		var messages []string
		for _, b := range k.log.Rest() {
			for _, line := range b.Call.Args[8:] {
				messages = append(messages, joblog.Decode(line.([]byte)).Message)
			}
		}
		require.Len(t, messages, 501)
		assert.Equal(t, "2500 lines of this log were dropped: they came faster than Redis took them", messages[0])
		assert.Equal(t, "2501", messages[1])
		assert.Equal(t, "3000", messages[500])
	})
}

func TestALineOfSomebodyElseIsAMessage(t *testing.T) {
	t.Parallel()
	assert.Equal(t, joblog.Line{Message: "no json\uFFFD"}, joblog.Decode([]byte(" no json\xff\n")))
}
