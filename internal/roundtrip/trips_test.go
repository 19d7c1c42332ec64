package roundtrip_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/roundtrip"
)

// line is a driver whose pipelines are answered when the test says so, and the trips over it. All of it is in a bubble.
type line struct {
	redisconn.Driver
	*testing.T
	*roundtrip.Trips
	sent              [][]string // commands of each pipeline
	answer            chan error // one for each
	due, urgent, soon bool
	panics            bool
}

// inBubble runs a test with a line whose answers wait for it.
func inBubble(t *testing.T, test func(l *line)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{T: t, answer: make(chan error)}
		l.Trips = roundtrip.New(l, roundtrip.Signs{
			Due:    func() bool { return l.due },
			Urgent: func() bool { return l.urgent },
			Soon:   func() bool { return l.soon },
		})
		test(l)
	})
}

func (l *line) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if l.panics {
		panic("boom")
	}
	var names []string
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		names = append(names, call.Command)
		replies[i].Value = "to " + call.Command
	}
	l.sent = append(l.sent, names)
	select {
	case err := <-l.answer:
		if err != nil {
			return nil, err
		}
		return replies, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// said is what somebody was answered: the replies, or the error.
type said chan string

func (s said) nothing(t *testing.T) {
	t.Helper()
	synctest.Wait()
	assert.Empty(t, s)
}

// settle sends outcomes of these names.
func (l *line) settle(names ...string) said {
	answer := make(said, 1)
	calls := make([]redisconn.Call, len(names))
	for i, name := range names {
		calls[i].Command = name
	}
	go func() {
		replies, err := l.Trips.Pipeline(l.Context(), calls...)
		text := ""
		for _, reply := range replies {
			text += fmt.Sprint(reply.Value, ";")
		}
		answer <- text + errorText(err)
	}()
	synctest.Wait()
	return answer
}

func (l *line) fetch(ctx context.Context) said {
	answer := make(said, 1)
	go func() {
		value, err := l.Fetch(ctx, redisconn.Call{Command: "fetch"})
		text, _ := value.(string)
		answer <- text + errorText(err)
	}()
	synctest.Wait()
	return answer
}

// meet waits as the settler does that is about to send.
func (l *line) meet() (over chan struct{}) {
	over = make(chan struct{})
	l.Ready()
	go func() {
		l.Meet(l.Context())
		close(over)
	}()
	synctest.Wait()
	return over
}

func open(c chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return "error: " + err.Error()
}

var errLuck = errors.New("bad luck")

func TestWhatComesWhileATripIsUnderWayGoesWithTheNextOne(t *testing.T) {
	inBubble(t, func(l *line) {
		first := l.settle("a")
		fetched := l.fetch(l.Context())
		assert.Equal(t, [][]string{{"a"}}, l.sent, "the fetch waits")
		l.answer <- nil
		assert.Equal(t, "to a;", <-first)
		fetched.nothing(t)
		second := l.settle("b", "c")
		assert.Equal(t, []string{"b", "c", "fetch"}, l.sent[1], "what has ended comes first, and the fetch sees it")
		l.answer <- nil
		assert.Equal(t, "to b;to c;", <-second)
		assert.Equal(t, "to fetch", <-fetched)
	})
}

func TestAloneNobodyWaits(t *testing.T) {
	inBubble(t, func(l *line) {
		l.Idle()
		fetched := l.fetch(l.Context())
		assert.Equal(t, [][]string{{"fetch"}}, l.sent)
		l.answer <- nil
		assert.Equal(t, "to fetch", <-fetched)
		assert.False(t, open(l.meet()), "no fetch is expected")
		settled := l.settle("a")
		assert.Equal(t, []string{"a"}, l.sent[1])
		l.answer <- nil
		assert.Equal(t, "to a;", <-settled)
	})
}

func TestAFetchWaitsForNoSettlementThatIsNotToBeSent(t *testing.T) {
	for name, otherwise := range map[string]func(*line){
		"nothing has ended": (*line).Idle, "the settler does something else": (*line).Rest,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(l *line) {
				settled := l.settle("a")
				fetched := l.fetch(l.Context())
				l.answer <- nil
				<-settled
				fetched.nothing(t)
				otherwise(l)
				synctest.Wait()
				assert.Equal(t, [][]string{{"a"}, {"fetch"}}, l.sent)
				l.answer <- nil
				assert.Equal(t, "to fetch", <-fetched)
			})
		})
	}
}

func TestAFetchWaitsForAnOutcomeThatIsThere(t *testing.T) {
	inBubble(t, func(l *line) {
		l.due = true
		l.Idle()
		fetched := l.fetch(l.Context())
		fetched.nothing(t)
		assert.Empty(t, l.sent)
		assert.False(t, open(l.meet()))
		settled := l.settle("a")
		assert.Equal(t, [][]string{{"a", "fetch"}}, l.sent)
		l.answer <- nil
		assert.Equal(t, "to a;", <-settled)
		assert.Equal(t, "to fetch", <-fetched)
	})
}

func TestAFetchForIdleProcessorsWaitsForNoAnswer(t *testing.T) {
	inBubble(t, func(l *line) {
		l.urgent = true
		settled := l.settle("a")
		fetched := l.fetch(l.Context())
		assert.Equal(t, [][]string{{"a"}, {"fetch"}}, l.sent)
		l.answer <- nil
		l.answer <- nil
		<-settled
		<-fetched
		l.Rest()
		again := l.meet() // a settlement that has not left takes it along
		assert.False(t, open(again))
		fetched = l.fetch(l.Context())
		settled = l.settle("b")
		assert.Equal(t, []string{"b", "fetch"}, l.sent[2])
		l.answer <- nil
		<-settled
		<-fetched
	})
}

func TestASettlementWaitsForAFetchThatComes(t *testing.T) {
	inBubble(t, func(l *line) {
		l.soon = true
		assert.False(t, open(l.meet()), "the fetcher knows of no work")
		l.Seek(true)
		met := l.meet()
		assert.True(t, open(met))
		fetched := l.fetch(l.Context())
		assert.False(t, open(met))
		assert.Empty(t, l.sent)
		settled := l.settle("a")
		assert.Equal(t, [][]string{{"a", "fetch"}}, l.sent)
		l.answer <- nil
		<-settled
		<-fetched

		l.Seek(true)
		l.soon = false
		assert.False(t, open(l.meet()), "there is no room for what it would bring")
	})
}

func TestASettlementWaitsForNoFetchThatDoesNotCome(t *testing.T) {
	for name, otherwise := range map[string]func(*line){
		"it does something else": func(l *line) { l.Seek(false) },
		"jobs take longer":       func(*line) {}, // time alone goes on
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(l *line) {
				l.soon = true
				l.Seek(true)
				met := l.meet()
				assert.True(t, open(met))
				otherwise(l)
				<-met
			})
		})
	}
}

func TestASettlementWaitsForAFetchUnderWay(t *testing.T) {
	inBubble(t, func(l *line) {
		fetched := l.fetch(l.Context())
		met := l.meet()
		assert.True(t, open(met))
		l.answer <- nil
		<-fetched
		<-met
		l.Rest()
		hanging := l.fetch(l.Context())
		<-l.meet() // for a moment only
		settled := l.settle("a")
		assert.Equal(t, [][]string{{"fetch"}, {"fetch"}, {"a"}}, l.sent)
		l.answer <- nil
		l.answer <- nil
		<-settled
		<-hanging
	})
}

func TestAfterALostAnswerEachGoesByItself(t *testing.T) {
	inBubble(t, func(l *line) {
		l.due = true
		l.Idle()
		fetched := l.fetch(l.Context())
		settled := l.settle("a")
		require.Equal(t, [][]string{{"a", "fetch"}}, l.sent)
		l.answer <- errLuck
		assert.Equal(t, "error: bad luck", <-settled)
		assert.Equal(t, "error: bad luck", <-fetched, "both are told, and each looks into it as always")

		l.soon = true
		l.Seek(true)
		assert.False(t, open(l.meet()))
		again := l.settle("a")
		fetched = l.fetch(l.Context())
		assert.Equal(t, [][]string{{"a"}, {"fetch"}}, l.sent[1:])
		l.answer <- nil
		l.answer <- nil
		assert.Equal(t, "to a;", <-again)
		<-fetched

		fetched = l.fetch(l.Context())
		settled = l.settle("b")
		assert.Equal(t, []string{"b", "fetch"}, l.sent[3], "that one was answered")
		l.answer <- nil
		<-settled
		<-fetched
	})
}

func TestAFetchThatIsGivenUpWhileItWaitsIsNotSent(t *testing.T) {
	inBubble(t, func(l *line) {
		ctx, cancel := context.WithCancel(l.Context())
		first := l.settle("a")
		fetched := l.fetch(ctx)
		cancel()
		assert.Contains(t, <-fetched, "was not sent: context canceled")
		l.answer <- nil
		<-first
		second := l.settle("b")
		assert.Equal(t, []string{"b"}, l.sent[1])
		ctx, cancel = context.WithCancel(l.Context())
		fetched = l.fetch(ctx)
		l.answer <- nil
		<-second
		third := l.settle("c")
		cancel()
		assert.Equal(t, "error: context canceled", <-fetched, "it is under way")
		l.answer <- nil
		assert.Equal(t, "to c;", <-third)
	})
}

// What a Connection of the program does may end the goroutine of the settler.
func TestAFetchOutlivesTheGoroutineThatTakesItAlong(t *testing.T) {
	inBubble(t, func(l *line) {
		l.due = true
		l.Idle()
		fetched := l.fetch(l.Context())
		settler := make(chan struct{})
		go func() {
			defer close(settler)
			defer func() { assert.Equal(t, "boom", recover()) }()
			l.panics = true
			_, _ = l.Trips.Pipeline(l.Context(), redisconn.Call{Command: "a"})
		}()
		<-settler
		l.panics = false
		assert.Contains(t, <-fetched, "ended before the answer")
		fetched = l.fetch(l.Context())
		assert.Equal(t, [][]string{{"fetch"}}, l.sent)
		l.answer <- nil
		<-fetched
	})
}
