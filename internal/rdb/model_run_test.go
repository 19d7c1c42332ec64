package rdb_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// The model test drives Redis and a model in memory with the same random requests, of which some lose their reply, some
// land late or twice, and some never land. After each of them all keys are compared with the model. A run that fails is
// made as short as it can be and printed as the list of its requests; the flag -rapid.seed repeats it.

// An init of a test file is before the flags are read, so a flag that is given counts.
func init() {
	for name, value := range map[string]string{
		"rapid.steps":      "150",  // in the 30 of the default few workers live to die, and few jobs to be limited
		"rapid.nofailfile": "true", // the seed repeats a run as well, and leaves no files in the tree
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

func TestModelOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "its Lua is slow, and the same runs are made on a real one")
	runModel(t, patientSite(t, redistest.Embedded(t)), modelRuns(4))
}

func TestModelOnARealRedis(t *testing.T) {
	t.Parallel()
	runModel(t, patientSite(t, redistest.Real(t)), modelRuns(3))
}

// modelRuns are few, so that the tests are quick, or with WORK_MODELS_LONG=1 as many as -rapid.checks says: make
// models-long makes thousands.
func modelRuns(usual int) int {
	if os.Getenv("WORK_MODELS_LONG") != "" {
		return math.MaxInt
	}
	return usual
}

// patientSite waits for the answers of a server, however busy the machine is: which of them are lost the model decides.
// One that the driver gives up is a failure that no other run has.
func patientSite(t *testing.T, server redistest.Server) *site {
	t.Helper()
	return newSite(t, server.DSNWith("read_timeout=60s&write_timeout=60s&dial_timeout=60s"), server.Embedded())
}

// story tells what happened in runs that fail. That of the first one is printed at once: on a real Redis time passes
// by itself, so the same requests again, whose output is all that rapid shows, may go well.
type story struct{ failed bool }

func (s *story) tell(t *testing.T, rt *rapid.T, script []string) {
	t.Helper()
	if !rt.Failed() {
		return
	}
	if !s.failed {
		t.Logf("what happened in the first run that failed:\n%s", strings.Join(script, "\n"))
	}
	s.failed = true
	rt.Logf("what happened:\n%s", strings.Join(script, "\n"))
}

// runModel makes random runs. Only the first ones, of which there are so many, do anything until one fails.
func runModel(t *testing.T, on *site, runs int) {
	t.Helper()
	run, slow, told := 0, 0, story{}
	rapid.Check(t, func(rt *rapid.T) {
		if run++; run > runs && !told.failed {
			return
		}
		m := newMachine(on, fmt.Sprintf("%s-%d", on.namespace, run))
		defer func() {
			told.tell(t, rt, m.script)
			m.site.eraseAll(rt)
		}()
		m.begin(rt)
		rt.Repeat(m.actions())
		m.inTime(m.recover)(rt)
		if m.tooSlow() {
			slow++
		}
	})
	t.Logf("%d runs, of which %d ended early, since the machine is slow", min(run, runs), slow)
}

// begin makes some workers and jobs, so that most runs have something to do from the start.
func (m *machine) begin(t *rapid.T) {
	for range 2 {
		m.newActor(t, modelQueues)
		m.enqueue(t)
	}
}

// eraseAll removes the namespace, so that the next run is fast as well.
func (s *site) eraseAll(t require.TestingT) {
	state := s.dump(t)
	erase := func(key string) { s.cmd(t, "UNLINK", key) }
	for key := range state.lists {
		erase(key)
	}
	for key := range state.maps {
		erase(key)
	}
}

// recover ends every run: all workers crash, and new ones must bring every job to its end. Nothing may be wedged.
func (m *machine) recover(t *rapid.T) {
	m.logf(t, "all crash; new workers must finish what is left")
	m.actors, m.late, m.calm = nil, nil, true
	for round := range 2 { // what waits for its time is done in the second round
		m.elapse(t, 60*time.Second)
		hand := m.newActor(t, modelQueues)
		m.elapse(t, 20*time.Second)
		m.reapAll(t, hand)
		m.orphanAll(t)
		m.free(t)
		m.cancelFlagged(t)
		m.resumeAll(t)
		for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry, rdb.ShelfScheduled, rdb.ShelfRetry} {
			m.dueOn(t, shelf)
		}
		m.finishOn(t, hand)
		if round == 1 {
			m.fillUp(t, hand)
		}
		m.stopOn(t, hand)
		m.check(t)
	}
	for id := range m.acknowledged {
		_, buried := m.shelves[rdb.ShelfMorgue][id]
		require.True(t, m.ended[id] || buried, "job %s was acknowledged and never ended", id)
	}
	m.requireNoLockLeft(t)
	require.Empty(t, m.claimed)
	require.Empty(t, m.workers)
	require.Empty(t, m.dead)
}

// finishOn has one worker end all jobs that wait in queues.
func (m *machine) finishOn(t *rapid.T, hand *actor) {
	for {
		m.fetchOn(t, hand, 100, true, []rdb.Share{{Queue: "a"}, {Queue: "b"}, {Queue: "c"}})
		if len(hand.held) == 0 {
			return
		}
		m.settleOn(t, hand, m.endAll(t, hand))
		if len(hand.unsettled) > 0 { // somebody waits for them, or they are to end as cancelled
			m.settleOn(t, hand, nil)
		}
		m.check(t)
	}
}
