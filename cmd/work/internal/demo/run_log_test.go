package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// at is a time in a story, in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }

func noneDead(int) bool { return false }

func TestLedgerTellsSuccessesOnce(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	log.add(mark{What: begun, ID: "a", At: at(0)})
	log.add(mark{What: ended, ID: "a", At: at(1), Err: "no"})
	assert.Empty(t, log.takeFresh(), "a failed run has no result")
	log.add(mark{What: begun, ID: "a", At: at(2)})
	log.add(mark{What: ended, ID: "a", At: at(3)})
	assert.Equal(t, []string{"a"}, log.takeFresh())
	assert.Empty(t, log.takeFresh())
	assert.Equal(t, []run{{begun: at(0), ended: at(1), err: "no"}, {begun: at(2), ended: at(3)}}, log.of("a"))
}

func TestLedgerTellsLostJobsOnce(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	log.add(mark{What: lost, ID: "a", Err: "too many crashes"})
	assert.Equal(t, map[string]string{"a": "too many crashes"}, log.takeLost())
	assert.Empty(t, log.takeLost())
}

func TestLedgerKnowsWhatAProcessHolds(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	for _, id := range []string{"a", "b", "c"} {
		log.add(mark{What: begun, ID: id, Process: 1, At: at(0)})
	}
	log.add(mark{What: ended, ID: "b", Process: 1, At: at(1)})
	log.add(mark{What: begun, ID: "d", Process: 2, At: at(1)})
	assert.ElementsMatch(t, []string{"a", "c"}, log.held(1))
	assert.Equal(t, []string{"d"}, log.held(2))
}

func TestLedgerFindsWhoBeganAgain(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	killed := at(10)
	for _, id := range []string{"again", "twice", "never"} {
		log.add(mark{What: begun, ID: id, Process: 1, At: at(5)})
	}
	log.add(mark{What: begun, ID: "again", Process: 2, At: at(40)})
	log.add(mark{What: begun, ID: "twice", Process: 3, At: at(90)})
	log.add(mark{What: begun, ID: "twice", Process: 2, At: at(70)})
	after, notYet := log.restarts(1, killed)
	assert.Equal(t, map[string]time.Duration{"again": 30 * time.Millisecond, "twice": 60 * time.Millisecond}, after)
	assert.Equal(t, []string{"never"}, notYet)
}

func TestLedgerIsNotIdleWhileALiveProcessRunsAJob(t *testing.T) {
	t.Parallel()
	log := newRunLog()
	_, idle := log.idleSince(noneDead)
	assert.True(t, idle)
	log.add(mark{What: begun, ID: "a", Process: 1, At: at(0)})
	_, idle = log.idleSince(noneDead)
	assert.False(t, idle)
	_, idle = log.idleSince(func(process int) bool { return process == 1 })
	assert.True(t, idle, "what a dead process ran will not end")
}
