package replicas

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/rdb"
)

var (
	errClosed = errors.New("closed")
	errBroken = errors.New("broken")
)

// within runs a test with a confirmer in a time of its own, and checks in the end that no connection is left open.
func within(t *testing.T, s *server, test func(t *testing.T, c *Confirmer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Dial: s.dial, Closed: errClosed})
		test(t, c)
		c.Close()
		_, open := s.connections()
		assert.Zero(t, open)
	})
}

// begin is a call of lane "a" that is waited for from now on. Its result comes once.
func begin(c *Confirmer, number int64, wait time.Duration) (result chan Result, leave func()) {
	result = make(chan Result, 2)
	call := Call{Lane: "a", Number: number, Replicas: 1, Until: time.Now().Add(wait)}
	return result, c.Confirm(call, func(r Result) { result <- r })
}

// warm has one connection be there that was asked before, and asks nothing now.
func warm(c *Confirmer) {
	result, _ := begin(c, 1, time.Minute)
	<-result
	synctest.Wait()
}

func TestACallIsConfirmedWhenReplicasHaveIt(t *testing.T) {
	s := &server{lag: time.Second}
	within(t, s, func(t *testing.T, c *Confirmer) {
		began := time.Now()
		result, _ := begin(c, 7, 10*time.Second)
		assert.Equal(t, Result{Confirmed: 1}, <-result)
		assert.Equal(t, time.Second+grain, time.Since(began), "a new connection is first asked whether it has the call")
		assert.Equal(t, []question{{1, []string{"a"}, 1, grain}, {1, []string{"a"}, 1, 10*time.Second - grain}},
			s.questions())
	})
}

func TestAWaitEndsInTimeWithTooFewReplicas(t *testing.T) {
	s := &server{lag: time.Hour}
	within(t, s, func(t *testing.T, c *Confirmer) {
		began := time.Now()
		late, _ := begin(c, 8, 3*time.Second)
		soon, _ := begin(c, 7, time.Second)
		assert.Equal(t, Result{}, <-soon)
		assert.InDelta(t, time.Second, time.Since(began), float64(grain))
		assert.Equal(t, Result{}, <-late)
		assert.InDelta(t, 3*time.Second, time.Since(began), float64(grain))
	})
}

// A server that hangs holds nobody up for ever.
func TestAWitnessThatIsSilentIsLeft(t *testing.T) {
	s := &server{answer: func(ctx context.Context, _ question) (rdb.Testimony, error) {
		<-ctx.Done()
		return rdb.Testimony{}, ctx.Err()
	}}
	within(t, s, func(t *testing.T, c *Confirmer) {
		began := time.Now()
		result, _ := begin(c, 7, time.Second)
		assert.Error(t, (<-result).Err)
		assert.Equal(t, time.Second+grace, time.Since(began))
	})
}

func TestCallsThatCameMeanwhileWaitTogether(t *testing.T) {
	s := &server{lag: 100 * time.Millisecond}
	within(t, s, func(t *testing.T, c *Confirmer) {
		warm(c)
		before := len(s.questions())
		var results []chan Result
		for i := range 500 {
			call := Call{Lane: fmt.Sprint(i % 2), Number: int64(i), Replicas: 1, Until: time.Now().Add(time.Minute)}
			result := make(chan Result, 2)
			c.Confirm(call, func(r Result) { result <- r })
			results = append(results, result)
		}
		for _, result := range results {
			assert.Equal(t, Result{Confirmed: 1}, <-result)
		}
		asked := s.questions()[before:]
		assert.LessOrEqual(t, len(asked), 2*mostWitnesses, "a witness that is new asks twice")
		for _, q := range asked {
			assert.LessOrEqual(t, len(q.lanes), 2, "each lane once")
		}
	})
}

func TestCallsForOtherNumbersOfReplicasHaveQuestionsOfTheirOwn(t *testing.T) {
	s := &server{}
	within(t, s, func(t *testing.T, c *Confirmer) {
		results := make(chan Result, 3)
		for _, replicas := range []int{1, 2, 1} {
			c.Confirm(Call{Lane: "a", Number: 1, Replicas: replicas, Until: time.Now().Add(time.Second)},
				func(r Result) { results <- r })
		}
		got := map[int]int{}
		for range 3 {
			got[(<-results).Confirmed]++
		}
		assert.Equal(t, map[int]int{1: 2, 2: 1}, got)
	})
}

// Only a connection that is new can tell that a call is lost: an old one may lead to a server that was replaced.
func TestALostCallIsToldByANewConnection(t *testing.T) {
	for name, known := range map[string]int64{"lost": 5, "known to the server that took over": latest} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			s.answer = func(ctx context.Context, q question) (rdb.Testimony, error) {
				if q.conn == 1 {
					return s.follow(ctx, q, 5)
				}
				return s.follow(ctx, q, known)
			}
			within(t, s, func(t *testing.T, c *Confirmer) {
				warm(c)
				result, _ := begin(c, 7, time.Second)
				if known < 7 {
					assert.Equal(t, Result{Lost: true}, <-result)
				} else {
					assert.Equal(t, Result{Confirmed: 1}, <-result)
				}
				synctest.Wait()
				dialed, open := s.connections()
				assert.Equal(t, []int{2, 1}, []int{dialed, open}, "the old one is closed")
			})
		})
	}
}

// A call that another server has executed anew, or that was rewound, is as lost as one that is not there.
func TestARewoundCallIsLost(t *testing.T) {
	s := &server{answer: func(context.Context, question) (rdb.Testimony, error) {
		return rdb.Testimony{Lanes: []rdb.LaneState{{Number: 9, Rewound: rdb.Rewind{Had: 5, At: 9}}}, Confirmed: 1}, nil
	}}
	within(t, s, func(t *testing.T, c *Confirmer) {
		lost, _ := begin(c, 7, time.Second)
		assert.Equal(t, Result{Lost: true}, <-lost)
		kept, _ := begin(c, 5, time.Second)
		assert.Equal(t, Result{Confirmed: 1}, <-kept)
	})
}

func TestAfterAnErrorAnotherConnectionIsAsked(t *testing.T) {
	s := &server{}
	s.answer = func(ctx context.Context, q question) (rdb.Testimony, error) {
		if q.conn < 3 && q.wait > grain {
			return rdb.Testimony{}, errBroken
		}
		return s.follow(ctx, q, latest)
	}
	s.lag = 2 * grain // more than a new connection is asked to wait
	within(t, s, func(t *testing.T, c *Confirmer) {
		result, _ := begin(c, 7, time.Minute)
		assert.Equal(t, Result{Confirmed: 1}, <-result)
		synctest.Wait()
		dialed, open := s.connections()
		assert.Equal(t, []int{3, 1}, []int{dialed, open})
	})
}

func TestAnErrorIsToldWhenTheTimeIsOver(t *testing.T) {
	few := func(context.Context, question) (rdb.Testimony, error) { return rdb.Testimony{Confirmed: 1}, nil }
	broken := func(context.Context, question) (rdb.Testimony, error) { return rdb.Testimony{}, errBroken }
	for name, c := range map[string]struct {
		server *server
		want   string
	}{
		"no connection":   {&server{refuse: func(int) error { return errBroken }}, "broken"},
		"broken ones":     {&server{answer: broken}, "broken"},
		"too few answers": {&server{answer: few}, "fewer lanes"},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, c.server, func(t *testing.T, confirmer *Confirmer) {
				began := time.Now()
				result, _ := begin(confirmer, 7, 2*time.Second)
				assert.ErrorContains(t, (<-result).Err, c.want)
				assert.InDelta(t, 2*time.Second+longestPause/2, time.Since(began), float64(longestPause))
				dialed, _ := c.server.connections()
				assert.Greater(t, dialed, 2, "it was tried again")
				assert.Less(t, dialed, 20, "and not without a pause")
			})
		})
	}
}

// A server that cannot count replicas says so at once: no waiting helps.
func TestAServerThatCannotCountReplicasIsNotWaitedFor(t *testing.T) {
	s := &server{answer: func(_ context.Context, q question) (rdb.Testimony, error) {
		return rdb.Testimony{Lanes: []rdb.LaneState{{Number: latest}}, Unable: errBroken}, nil
	}}
	within(t, s, func(t *testing.T, c *Confirmer) {
		began := time.Now()
		result, _ := begin(c, 7, time.Minute)
		assert.Equal(t, Result{Err: errBroken}, <-result)
		assert.Zero(t, time.Since(began))
	})
}

func TestWhoLeavesIsNotCalled(t *testing.T) {
	var fail chan struct{}
	s := &server{answer: func(context.Context, question) (rdb.Testimony, error) {
		<-fail
		return rdb.Testimony{}, errBroken
	}}
	within(t, s, func(t *testing.T, c *Confirmer) {
		fail = make(chan struct{}) // of the bubble
		left, leave := begin(c, 7, time.Minute)
		synctest.Wait() // the question is under way
		leave()
		leave()
		close(fail)
		pass(2 * time.Minute)
		assert.Empty(t, left)
		assert.Len(t, s.questions(), 1, "nobody waits: nobody is asked again")
	})
}

func TestCloseEndsAllWaits(t *testing.T) {
	s := &server{lag: time.Hour}
	within(t, s, func(t *testing.T, c *Confirmer) {
		asked, _ := begin(c, 7, time.Minute)
		pass(time.Second)
		standing, _ := begin(c, 8, time.Minute)
		left, leave := begin(c, 9, time.Minute)
		leave()
		began := time.Now()
		c.Close()
		assert.Zero(t, time.Since(began))
		assert.Equal(t, Result{Err: errClosed}, <-asked)
		assert.Equal(t, Result{Err: errClosed}, <-standing)
		assert.Empty(t, left)
		after, _ := begin(c, 10, time.Minute)
		assert.Equal(t, Result{Err: errClosed}, <-after)
		assert.Empty(t, asked, "answered once")
		_, open := s.connections()
		assert.Zero(t, open)
	})
}

// It keeps no connection that nobody needs, and makes one again when it is needed.
func TestAnIdleConfirmerHasNoConnections(t *testing.T) {
	s := &server{}
	within(t, s, func(t *testing.T, c *Confirmer) {
		warm(c)
		pass(idleAfter - time.Second)
		_, open := s.connections()
		assert.Equal(t, 1, open)
		pass(2 * time.Second)
		_, open = s.connections()
		assert.Zero(t, open)
		warm(c)
		dialed, _ := s.connections()
		assert.Equal(t, 2, dialed)
	})
}
