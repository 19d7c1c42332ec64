package questions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// shelf is a Store that keeps what is stored, and may fail.
type shelf struct {
	mu       sync.Mutex
	asked    map[string]string
	answered chan string // what was answered, also where the answer of Redis is lost
	lose     int         // so many answers of Redis are lost
}

func newShelf() *shelf { return &shelf{asked: map[string]string{}, answered: make(chan string, 100)} }

func (s *shelf) ask(token, name, payload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, _ := json.Marshal(Question{Name: name, Payload: json.RawMessage(payload), Within: patience.Milliseconds()})
	s.asked[token] = string(q)
}

func (s *shelf) Question(_ context.Context, token string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[token], nil
}

func (s *shelf) Answer(_ context.Context, _, _, text string, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered <- text
	if s.lose > 0 {
		s.lose--
		return errors.New("no luck")
	}
	return nil
}

// answerer has one message, "n", which fn answers.
func answerer(t *testing.T, s Store, fn Handler) *Answerer {
	t.Helper()
	a := &Answerer{Store: s, Life: t.Context(), Serving: t.Context(), Timeout: patience,
		Find: func(_, name string) (Handler, error) {
			if name != "n" {
				return nil, fmt.Errorf("no message %s", name)
			}
			return fn, nil
		}}
	return a
}

func receive[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		require.Fail(t, "it never came")
	}
	return got
}

func TestWhatIsAnswered(t *testing.T) {
	t.Parallel()
	text := func(bytes int) string { return strings.Repeat("x", bytes-2) } // with its quotes
	for name, row := range map[string]struct {
		message string
		fn      Handler
		want    string
	}{
		"a value": {"n", func(_ context.Context, p json.RawMessage) (any, error) { return []any{p}, nil },
			`{"value":[{"a":1}]}`},
		"nothing": {"n", func(context.Context, json.RawMessage) (any, error) { return nil, nil }, `{}`},
		"an error": {"n", func(context.Context, json.RawMessage) (any, error) { return 1, errors.New("no luck") },
			`{"error":"no luck"}`},
		"a panic": {"n", func(context.Context, json.RawMessage) (any, error) { panic("oh") },
			`{"error":"the function that answers panicked: oh"}`},
		"its goroutine ends": {"n", func(context.Context, json.RawMessage) (any, error) {
			runtime.Goexit()
			return nil, nil
		}, `{"error":"the function that answers ended its goroutine"}`},
		"unknown": {"m", nil, `{"error":"no message m"}`},
		"no JSON": {"n", func(context.Context, json.RawMessage) (any, error) { return func() {}, nil },
			`{"error":"the answer cannot be written as JSON: json: unsupported type: func()"}`},
		"as large as may be": {"n", func(context.Context, json.RawMessage) (any, error) { return text(MaxBytes), nil },
			`{"value":"` + text(MaxBytes) + `"}`},
		"too large": {"n", func(context.Context, json.RawMessage) (any, error) { return text(MaxBytes + 1), nil },
			`{"error":"the answer has 65537 bytes as JSON, more than 65536: pass on where it is to be found"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf()
			s.ask("t1", row.message, `{"a":1}`)
			a := answerer(t, s, row.fn)
			a.Asked("w1", "t1")
			assert.Equal(t, row.want, receive(t, s.answered))
			a.Stop(t.Context())
		})
	}
}

// What comes again is not handled again, whether its answer was lost or somebody has sent it twice.
func TestAQuestionIsHandledOnce(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.lose = 2
	s.ask("t1", "n", "1")
	var calls atomic.Int64
	a := answerer(t, s, func(context.Context, json.RawMessage) (any, error) { return calls.Add(1), nil })
	for range 4 {
		a.Asked("w1", "t1")
		assert.Equal(t, `{"value":1}`, receive(t, s.answered), "the same answer")
		require.Eventually(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.busy == 0 }, patience,
			time.Millisecond)
	}
	assert.EqualValues(t, 1, calls.Load())
	a.Asked("w1", "t2")
	assert.Empty(t, receive(t, s.answered), "its time is over: it is only taken out")
	a.Stop(t.Context())
}

func TestSoManyAreHandledAtOnce(t *testing.T) {
	t.Parallel()
	s := newShelf()
	tokens := []string{}
	for n := range mostAtOnce + 2 {
		tokens = append(tokens, fmt.Sprint("t", n))
		s.ask(tokens[n], "n", "1")
	}
	begun, gate := make(chan bool, 100), make(chan bool)
	a := answerer(t, s, func(context.Context, json.RawMessage) (any, error) { begun <- true; <-gate; return 1, nil })
	all := strings.Join(tokens, " ")
	a.Asked("w1", all)
	for range mostAtOnce {
		receive(t, begun)
	}
	a.Asked("w1", all)
	a.mu.Lock()
	assert.Equal(t, mostAtOnce, a.busy)
	assert.Len(t, a.known, mostAtOnce, "the others come again")
	a.mu.Unlock()
	close(gate)
	for range mostAtOnce {
		receive(t, s.answered)
	}
	require.Eventually(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.busy == 0 }, patience,
		time.Millisecond)
	a.Asked("w1", strings.Join(tokens[mostAtOnce:], " "))
	receive(t, s.answered)
	receive(t, s.answered)
	a.Stop(t.Context())
}

// A handler that does not heed its ctx is not waited for for ever; nothing is taken any more after that.
func TestAStopIsNotHeldUp(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.ask("t1", "n", "1")
	begun, gate := make(chan bool, 1), make(chan bool)
	a := answerer(t, s, func(context.Context, json.RawMessage) (any, error) { begun <- true; <-gate; return 1, nil })
	a.Asked("w1", "t1")
	receive(t, begun)
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	a.Stop(soon)
	a.Asked("w1", "t2")
	close(gate)
	receive(t, s.answered)
	a.Stop(t.Context())
	assert.Len(t, a.known, 1)
}
