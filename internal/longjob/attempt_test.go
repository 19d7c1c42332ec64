package longjob_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// played is a Redis whose answers are the test's: "saved" and no state where there is none.
type played struct {
	redisconn.Driver

	mu     sync.Mutex
	play   func(call redisconn.Call) (any, error)
	states []state
}

// state is what came to be saved.
type state struct {
	number int64
	trail  record.Trail
}

func (p *played) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call := calls[0]
	if call.Script != nil {
		note, _ := call.Args[4].([]byte)
		p.states = append(p.states, state{call.Args[2].(int64), record.DecodeTrail(note)})
	}
	if p.play != nil {
		value, err := p.play(call)
		return []redisconn.Reply{{Value: value}}, err
	}
	if call.Script != nil {
		return []redisconn.Reply{{Value: []byte("saved")}}, nil
	}
	return []redisconn.Reply{{}}, nil
}

func newAttempt(p *played, trail record.Trail) *longjob.Attempt {
	store := rdb.NewStore(p, "ns")
	logs := joblog.NewFlusher(store, &redisclock.Clock{}, func(event.Event) {})
	logs.Start = func() {} // nothing is flushed
	return longjob.New(longjob.Options{
		Worker: store.Worker("w"), Store: store, Claim: rdb.Claim{Element: "1:id", Queue: "long"}, ID: "id",
		Named: "long id", Number: 1, Trail: trail, Logs: logs, Life: context.Background(), Steps: retry.Steps{},
	})
}

// TestWhatAnAttemptKeepsIsNoted: in its trail, before it is in Redis, until it is known to stand there.
func TestWhatAnAttemptKeepsIsNoted(t *testing.T) {
	t.Parallel()
	p := &played{}
	a := newAttempt(p, record.Trail{Fails: 2})
	assert.Nil(t, a.PresentTrail(), "the one that was fetched stands")
	require.NoError(t, a.SaveState(t.Context(), []byte("1")))
	a.Logger().Info("a line")
	require.NoError(t, a.SaveState(t.Context(), []byte("2")))
	assert.Equal(t, []state{{1, record.Trail{Fails: 2, State: true}}, {2, record.Trail{}}}, p.states,
		"the second time it is known to stand there")
	assert.Equal(t, record.Trail{Fails: 2, State: true, Log: true}, record.DecodeTrail(a.PresentTrail()))
	hasLog, hasState := a.End()
	assert.True(t, hasLog && hasState)
	require.Len(t, a.Log().Rest(), 1)
}

func TestWhatEarlierAttemptsHaveLeftStays(t *testing.T) {
	t.Parallel()
	a := newAttempt(&played{}, record.Trail{Log: true, State: true})
	hasLog, hasState := a.End()
	assert.True(t, hasLog && hasState)
	assert.Nil(t, a.Log(), "nobody asked for it")

	none := newAttempt(&played{}, record.Trail{})
	none.Logger()
	hasLog, hasState = none.End()
	assert.False(t, hasLog || hasState, "a logger is no log")
}

// TestAStateThatIsThereIsNotLeftBehind, whatever the trail says of it.
func TestAStateThatIsThereIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	p := &played{play: func(redisconn.Call) (any, error) { return []byte(`{"claim":"w 1","save":1,"state":[7]}`), nil }}
	a := newAttempt(p, record.Trail{})
	loaded, err := a.LoadState(t.Context())
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage("[7]"), loaded)
	_, hasState := a.End()
	assert.True(t, hasState)

	nothing, err := newAttempt(&played{}, record.Trail{}).LoadState(t.Context())
	require.NoError(t, err)
	assert.Nil(t, nothing)
}

func TestNothingIsKeptOfAnAttemptThatIsOver(t *testing.T) {
	t.Parallel()
	p := &played{}
	a := newAttempt(p, record.Trail{})
	assert.False(t, a.Over())
	a.End()
	assert.True(t, a.Over())
	a.Logger().Info("late")
	assert.Empty(t, a.Log().Rest())
	require.ErrorIs(t, a.SaveState(t.Context(), []byte("1")), longjob.ErrOver)
	assert.Empty(t, p.states)
	hasLog, hasState := a.End()
	assert.False(t, hasLog || hasState)
}

func TestWhatIsToldGoesWithOneHeartbeat(t *testing.T) {
	t.Parallel()
	a := newAttempt(&played{}, record.Trail{})
	assert.Nil(t, a.TakeNews())
	assert.True(t, a.Say("half"))
	assert.False(t, a.Progress("0.5"), "it has told something before")
	news := a.TakeNews()
	message, progress := record.DecodeCheckin(*news)
	assert.Equal(t, "half", message)
	assert.JSONEq(t, "0.5", string(progress))
	assert.Nil(t, a.TakeNews())
	a.ReturnNews(news)
	assert.Equal(t, news, a.TakeNews(), "the heartbeat failed")
	a.Say("all")
	a.ReturnNews(news)
	message, _ = record.DecodeCheckin(*a.TakeNews())
	assert.Equal(t, "all", message, "what is newer stays")
}

// TestASaveIsMadeAgainUntilItIsAnswered under the same number; a refusal is final.
func TestASaveIsMadeAgainUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	lost := &redisconn.DialError{Addr: "nowhere", Err: errors.New("refused")}
	for name, tt := range map[string]struct {
		play  func(n int) (any, error)
		calls int
		want  error
	}{
		"at last":           {func(n int) (any, error) { return answerAfter(n, 3, "saved", lost) }, 4, nil},
		"the claim is gone": {func(n int) (any, error) { return answerAfter(n, 1, "gone", lost) }, 2, longjob.ErrGone},
		"never":             {func(int) (any, error) { return nil, lost }, 0, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				p := &played{play: func(redisconn.Call) (any, error) { calls++; return tt.play(calls - 1) }}
				a := newAttempt(p, record.Trail{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.ErrorIs(t, a.SaveState(ctx, []byte("1")), tt.want)
				for _, s := range p.states {
					assert.EqualValues(t, 1, s.number)
				}
				if tt.calls > 0 {
					assert.Equal(t, tt.calls, calls)
				}
				_, hasState := a.End()
				assert.True(t, hasState, "nobody knows that it is not there")
			})
		})
	}
}

func answerAfter(n, failures int, answer string, err error) (any, error) {
	if n < failures {
		return nil, err
	}
	return []byte(answer), nil
}
