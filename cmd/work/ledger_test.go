package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// at is a moment of a story, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }

func noneDead(int) bool { return false }

func TestLedgerTellsSuccessesOnce(t *testing.T) {
	t.Parallel()
	book := newLedger()
	book.add(mark{What: begun, ID: "a", At: at(0)})
	book.add(mark{What: ended, ID: "a", At: at(1), Err: "no"})
	assert.Empty(t, book.takeFresh(), "a failed run has no result")
	book.add(mark{What: begun, ID: "a", At: at(2)})
	book.add(mark{What: ended, ID: "a", At: at(3)})
	assert.Equal(t, []string{"a"}, book.takeFresh())
	assert.Empty(t, book.takeFresh())
	assert.Equal(t, []run{{begun: at(0), ended: at(1), err: "no"}, {begun: at(2), ended: at(3)}}, book.of("a"))
}

func TestLedgerTellsLostJobsOnce(t *testing.T) {
	t.Parallel()
	book := newLedger()
	book.add(mark{What: lost, ID: "a", Err: "too many crashes"})
	assert.Equal(t, map[string]string{"a": "too many crashes"}, book.takeLost())
	assert.Empty(t, book.takeLost())
}

func TestLedgerKnowsWhatAProcessHolds(t *testing.T) {
	t.Parallel()
	book := newLedger()
	for _, id := range []string{"a", "b", "c"} {
		book.add(mark{What: begun, ID: id, Member: 1, At: at(0)})
	}
	book.add(mark{What: ended, ID: "b", Member: 1, At: at(1)})
	book.add(mark{What: begun, ID: "d", Member: 2, At: at(1)})
	assert.ElementsMatch(t, []string{"a", "c"}, book.held(1))
	assert.Equal(t, []string{"d"}, book.held(2))
}

func TestLedgerFindsWhoBeganAgain(t *testing.T) {
	t.Parallel()
	book := newLedger()
	killed := at(10)
	for _, id := range []string{"again", "twice", "never"} {
		book.add(mark{What: begun, ID: id, Member: 1, At: at(5)})
	}
	book.add(mark{What: begun, ID: "again", Member: 2, At: at(40)})
	book.add(mark{What: begun, ID: "twice", Member: 3, At: at(90)})
	book.add(mark{What: begun, ID: "twice", Member: 2, At: at(70)})
	after, notYet := book.restarts(1, killed)
	assert.Equal(t, map[string]time.Duration{"again": 30 * time.Millisecond, "twice": 60 * time.Millisecond}, after)
	assert.Equal(t, []string{"never"}, notYet)
}

func TestLedgerIsNotIdleWhileALiveProcessRunsAJob(t *testing.T) {
	t.Parallel()
	book := newLedger()
	_, idle := book.idleSince(noneDead)
	assert.True(t, idle)
	book.add(mark{What: begun, ID: "a", Member: 1, At: at(0)})
	_, idle = book.idleSince(noneDead)
	assert.False(t, idle)
	_, idle = book.idleSince(func(member int) bool { return member == 1 })
	assert.True(t, idle, "what a dead process ran will not end")
}
