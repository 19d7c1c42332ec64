package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// scribbler is a handler that logs and saves, without end, until its claim is gone.
type scribbler struct {
	s     *site
	w     *rdb.Worker
	claim rdb.Claim
	name  string

	trail string // as the worker knows it
	lines []string
	saved string
}

// note is what a run sends: the letters of what it has, behind what it had.
func (b *scribbler) note(letter string) rdb.Note {
	if strings.Contains(b.trail, letter) {
		return rdb.Note{}
	}
	b.trail += letter
	return rdb.Note{Trail: []byte(b.trail), Fuller: []byte("LS")}
}

// log appends one line, and sometimes sends it twice. It returns false when the claim is gone.
func (b *scribbler) log(t require.TestingT, n int) bool {
	line := fmt.Sprint(b.name, " ", n)
	batch := rdb.LogBatch{Claim: b.claim, ID: "a1", Number: int64(n), Note: b.note("L"), Lines: [][]byte{[]byte(line)}}
	stands := false
	for range 1 + rand.IntN(2) {
		logged, err := b.s.store.SendLogs(background, []redisconn.Call{b.w.Log(batch)})
		require.NoError(t, err)
		require.NoError(t, logged[0].Err)
		stands = stands || !logged[0].Gone // the first may have counted, and the second have come too late
	}
	if stands {
		b.lines = append(b.lines, line)
	}
	return stands
}

func (b *scribbler) save(t require.TestingT, n int) bool {
	state := fmt.Sprintf(`"%s %d"`, b.name, n)
	ok, err := b.w.SaveState(background, rdb.SavedState{Claim: b.claim, ID: "a1", Number: int64(n), Note: b.note("S"),
		JSON: []byte(state)})
	require.NoError(t, err)
	if ok {
		b.saved = state
	}
	return ok
}

func (b *scribbler) scribble(t require.TestingT, rounds int) {
	for n := 1; n <= rounds; n++ {
		write := []func(require.TestingT, int) bool{b.log, b.save}[rand.IntN(2)]
		if !write(t, n) {
			return
		}
	}
}

// takeAway ends the claim of a1 in one of the ways in which that happens, and makes the job fetchable.
func takeAway(t *testing.T, s *site, b *scribbler) {
	t.Helper()
	switch rand.IntN(3) {
	case 0: // reaped
		settle(t, b.w, b.w.Release(rdb.Released{Queue: "a", Elements: []string{b.claim.Element}, Died: b.w.ID}))
	case 1: // the worker is unknown
		_, page, err := s.store.Holdings(background, "0")
		require.NoError(t, err)
		s.cmd(t, "SREM", "workers", b.w.ID)
		for _, holding := range page {
			_, err := s.store.ReturnClaim(background, holding)
			require.NoError(t, err)
		}
	default: // failed, without a word about what its trail says
		settle(t, b.w, b.w.Shelve(rdb.Shelved{Claim: b.claim, Shelf: rdb.ShelfRetry, Delay: time.Millisecond}))
		s.pass(t, 2*time.Millisecond)
		_, err := s.store.Due(background, rdb.ShelfRetry, rdb.DueCall{Move: []rdb.Waiting{{ID: "a1", Queue: "a"}}})
		require.NoError(t, err)
	}
}

// TestLogsAndStatesOfALostClaimDoNotMix: a worker logs and saves while its job is taken away and given to another one,
// which logs, saves and ends it. Whatever comes when, what counted is there, in order, and nothing is left behind.
func TestLogsAndStatesOfALostClaimDoNotMix(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		rounds := redistest.Rounds(s.clock, 300, 100)
		for round := range rounds {
			s.enqueue(t, "a", "a1")
			number := int64(round + 1)
			first := &scribbler{s: s, w: s.worker(t, "w1", "a"), name: "first"}
			first.claim = s.take(t, first.w, number, 1, "a")[0]
			var both sync.WaitGroup
			both.Go(func() { first.scribble(assertion{t}, 12) })
			for range rand.IntN(15) { // let it come to something, now and then
				s.exists(t, "log:a1")
			}
			takeAway(t, s, first)
			second := &scribbler{s: s, w: s.worker(t, "w2", "a"), name: "second"}
			fetched, err := second.w.Fetch(background, number, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
			require.NoError(t, err)
			require.Len(t, fetched.Jobs, 1)
			second.claim, second.trail = fetched.Jobs[0].Claim, string(fetched.Jobs[0].Trail)
			before, err := s.store.LoadState(background, "a1")
			require.NoError(t, err)
			second.scribble(t, rand.IntN(4))
			both.Wait()
			if t.Failed() {
				return
			}
			end(t, s, second, first, string(before))
		}
	})
}

// end checks what the log and the state are, ends the job and checks that nothing is left.
func end(t *testing.T, s *site, second, first *scribbler, before string) {
	t.Helper()
	require.Equal(t, first.saved, before, "what counted of the first is what the second finds")
	state, err := s.store.LoadState(background, "a1")
	require.NoError(t, err)
	if second.saved == "" {
		second.saved = before
	}
	require.Equal(t, second.saved, string(state))
	entries, _, err := s.store.LogTail(background, "a1", rdb.MaxLogLines)
	require.NoError(t, err)
	var lines []string
	for _, entry := range entries {
		lines = append(lines, string(entry.Line))
	}
	require.Equal(t, append(first.lines, second.lines...), lines)
	has := rdb.Belongings{Log: strings.Contains(second.trail, "L"), State: strings.Contains(second.trail, "S")}
	require.Equal(t, rdb.Belongings{Log: len(lines) > 0, State: len(state) > 0}, has, "the trail says what there is")
	require.Empty(t, settle(t, second.w,
		second.w.End(second.claim, rdb.Ending{ID: "a1", Queue: "a", State: "done", Belongings: has})))
	for _, key := range []string{"log:a1", "state:a1", "trail", "jobs", "claimed"} {
		require.False(t, s.exists(t, key), key)
	}
}

// assertion is a test for another goroutine, which must not end it.
type assertion struct{ t *testing.T }

func (a assertion) Errorf(format string, args ...any) { a.t.Errorf(format, args...) }
func (a assertion) FailNow()                          { a.t.Fail() }
