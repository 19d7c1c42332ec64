package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

func TestAnEndFreesTheLockOfItsOwnJobOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lock  string // what stands in unique when a1 ends
		state string
		stays bool
	}{
		"until it has ended":             {lock: "a1 0 f", state: "done"},
		"until it is out of the morgue":  {lock: "a1 0 m", state: "done"},
		"for a time":                     {lock: "a1 9000000000000 t", state: "done", stays: true},
		"for a time, and it was deleted": {lock: "a1 9000000000000 t", state: "deleted"},
		"of another job":                 {lock: "a2 0 f", state: "done", stays: true},
		"of one with its id at the end":  {lock: "b a1 0 f", state: "done", stays: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2", "b a1")
				w := s.worker(t, "w1", "a")
				claim := s.take(t, w, 1, 1, "a")[0]
				s.cmd(t, "HSET", "unique", "digest", tt.lock)
				ending := rdb.Ending{ID: "a1", Queue: "a", State: tt.state, Belongings: rdb.Belongings{Lock: "digest"}}
				assert.Empty(t, settle(t, w, w.End(claim, ending)))
				assert.Equal(t, tt.stays, s.exists(t, "unique"))
			})
		})
	}
}

func TestAnEndTakesWhatBelongsToTheJob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		w := s.worker(t, "w1", "a")
		claim := s.take(t, w, 1, 1, "a")[0]
		s.cmd(t, "RPUSH", "log:a1", "# 1 0 0 ")
		s.cmd(t, "SET", "state:a1", "{}")
		s.cmd(t, "SADD", "object:ab:jobs", "a1", "other")
		call := w.End(claim, rdb.Ending{ID: "a1", Queue: "a", State: "done", Belongings: rdb.Belongings{
			Log: true, State: true, Completion: "c", Objects: []string{"ab"},
		}})
		assert.Empty(t, settle(t, w, call))
		assert.Equal(t, []string{claim.Element}, settle(t, w, call), "sent again: it has ended")
		assert.False(t, s.exists(t, "log:a1") || s.exists(t, "state:a1"))
		assert.Equal(t, []string{"done a1"}, s.list(t, "completion:c"))
		assert.Equal(t, []string{"other"}, s.set(t, "object:ab:jobs"))
	})
}

func TestACancellationIsAnnouncedToWhoHoldsTheJob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "held", "waits")
		s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
		told := s.published(t, s.store.Control(), func() {
			for _, id := range []string{"waits", "held", "gone"} {
				_, err := s.store.Cancel(t.Context(), []string{id})
				require.NoError(t, err)
			}
		})
		assert.Equal(t, []string{rdb.CancelHint}, told, "for the one that is held: nobody needs to know of the others")
		assert.Equal(t, []string{"held", "waits"}, s.set(t, "cancelled"))
	})
}

func TestForetellKeepsTheOutcomeOfWhatIsToBeCancelled(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "held", "flagged", "unflagged")
		s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
		s.cmd(t, "SADD", "cancelled", "held", "flagged", "gone")
		s.awaited(t, "flagged")
		endings := make([]rdb.Ending, 0, 4)
		for _, id := range []string{"held", "flagged", "unflagged", "gone"} {
			endings = append(endings, rdb.Ending{ID: id, Keep: time.Minute, Outcome: []byte("cancelled")})
		}
		told := s.published(t, s.store.Done(), func() {
			for range 2 {
				require.NoError(t, s.store.KeepOutcomes(t.Context(), endings))
			}
		})
		assert.Equal(t, []string{"flagged"}, told)
		assert.Equal(t, map[string]string{"flagged": "cancelled"}, s.hash(t, "outcomes"))
		assert.Len(t, s.scores(t, "outcomes:until"), 1)
		assert.False(t, s.exists(t, "waited"))
	})
}

// A job that stands deep in its queue is cancelled or deleted by the one who comes first, and ends so when its turn has
// come.
func TestWhatWasForetoldFirstIsHowAJobEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "deleted", "cancelled")
		told := func(state string, at int) rdb.Ending {
			return rdb.Ending{State: state, Keep: time.Minute,
				Outcome: fmt.Appendf(nil, `{"state":%q,"ended":%d}`, state, at)}
		}
		flag := func(id string, at int) rdb.Answer {
			return s.obey(t, s.store.Flag(rdb.JobPlace{ID: id, Queue: "a"}, told("deleted", at)))
		}
		cancel := func(id string, at int) rdb.Spot {
			standings, err := s.store.Cancel(t.Context(), []string{id})
			require.NoError(t, err)
			ending := told("cancelled", at)
			ending.ID = id
			require.NoError(t, s.store.KeepOutcomes(t.Context(), []rdb.Ending{ending}))
			return standings[0].Spot
		}
		assert.Equal(t, rdb.SpotQueue, cancel("cancelled", 1))
		assert.Equal(t, rdb.AnswerCancelled, flag("cancelled", 2))
		assert.Equal(t, rdb.AnswerFlagged, flag("deleted", 3))
		assert.Equal(t, rdb.SpotGone, cancel("deleted", 4))

		w := s.worker(t, "w1", "a")
		for n, claim := range s.take(t, w, 1, 2, "a") {
			ending := told("cancelled", 5)
			ending.ID, ending.Queue, ending.Completion = []string{"deleted", "cancelled"}[n], "a", "c"
			assert.Empty(t, settle(t, w, w.End(claim, ending)))
		}
		assert.Equal(t, map[string]string{
			"cancelled": `{"state":"cancelled","ended":1}`, "deleted": `{"state":"deleted","ended":3}`,
		}, s.hash(t, "outcomes"))
		assert.Equal(t, []string{"deleted deleted", "cancelled cancelled"}, s.list(t, "completion:c"))
		assert.Equal(t, rdb.AnswerGone, flag("deleted", 6), "it has ended")
	})
}

func TestFlagsOfJobsThatAreGoneAreRemoved(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "lives")
		s.cmd(t, "SADD", "cancelled", "lives", "gone")
		for _, mend := range []bool{false, true} {
			_, stray, living, err := rdb.Mender{Store: s.store, Mend: mend}.Flags(t.Context(), "")
			require.NoError(t, err)
			assert.Equal(t, []string{"gone"}, stray)
			assert.Equal(t, []string{"lives"}, living)
			assert.Equal(t, mend, len(s.set(t, "cancelled")) == 1)
		}
		assert.Equal(t, []string{"lives"}, s.set(t, "cancelled"))
	})
}

func TestAFillCountsWhatIsHeldOfItsQueueOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.enqueue(t, "b", "b1")
		s.take(t, s.worker(t, "w1", "a", "b"), 1, 2, "a", "b")
		s.cmd(t, "SADD", "running:a", "b1", "gone")
		removed, err := s.store.Recount(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"a": 2}, removed)
		require.NoError(t, s.store.Fill(t.Context(), "a"))
		assert.Equal(t, []string{"a1"}, s.set(t, "running:a"))
	})
}

func TestNobodyIsCalledToAQueueWithoutRoom(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "UNLINK", "wake:a")
		for _, rule := range []rdb.Rule{{Paused: true}, {}} {
			before, err := s.store.RuleOf(t.Context(), "a")
			require.NoError(t, err)
			if rule.Paused {
				s.cmd(t, "HSET", "limits", "a", rule.Text())
			} else {
				require.NotEmpty(t, before)
				s.cmd(t, "HDEL", "limits", "a")
			}
			require.NoError(t, s.store.Wake(t.Context(), []string{"a"}))
			assert.Equal(t, !rule.Paused, s.exists(t, "wake:a"))
		}
	})
}

func TestARestoredJobCountsAndTakesNoLockFromAnother(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		s.cmd(t, "HSET", "unique", "taken", "other 0 f")
		s.cmd(t, "HSET", "limits", "a", rdb.Rule{Limit: rdb.Limit{Concurrent: 2}}.Text())
		held := func(id, lock string) rdb.Held {
			return rdb.Held{Claim: rdb.Claim{Queue: "a", Element: "1:" + id}, ID: id, Record: record(id), Lock: lock,
				Kind: rdb.UntilEnded}
		}
		jobs := []rdb.Held{held("a1", "taken"), held("a2", "free"), held("a3", "")}
		restored, state, err := w.Restore(t.Context(), 1, 1, jobs)
		require.NoError(t, err)
		assert.Equal(t, rdb.Registered, state)
		assert.Equal(t, rdb.Restored{Stored: 3, Others: []string{}}, restored)
		assert.Equal(t, map[string]string{"taken": "other 0 f", "free": "a2 0 f"}, s.hash(t, "unique"))
		assert.Equal(t, []string{"a1", "a2", "a3"}, s.set(t, "running:a"),
			"they count towards the limit that was declared again")
	})
}

func TestAJobThatIsHeldDoesNotEndWhereItStoodBefore(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
		s.cmd(t, "RPUSH", "queue:a", "a1") // once more: the fetch will drop it
		before := s.dump(t)
		assert.Equal(t, rdb.AnswerHeld,
			s.obey(t, s.store.Remove(rdb.JobPlace{ID: "a1", Queue: "a"}, rdb.Ending{State: "deleted"})))
		assert.Equal(t, before, s.dump(t))
	})
}

// A cancellation that comes late finds another job of its id, which nobody has cancelled.
func TestACancellationEndsNoSuccessor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		before := s.dump(t)
		resting := rdb.UnheldJob{Spot: rdb.SpotQueue, Ending: rdb.Ending{ID: "a1", Queue: "a", State: "cancelled",
			Keep: time.Minute}}
		rested, err := s.store.EndUnheld(t.Context(), []rdb.UnheldJob{resting})
		require.NoError(t, err)
		assert.Equal(t, []rdb.EndResult{rdb.EndGone}, rested)
		assert.Equal(t, before, s.dump(t))
	})
}

func TestAnUploadThatIsNotThereInFullIsNoObject(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		upload := rdb.Upload{SHA: "ab", Token: "t", Content: []byte("content")}
		for stored, want := range map[string]rdb.ObjectState{"cont": rdb.ObjectLost, "content": rdb.ObjectKept} {
			s.cmd(t, "UNLINK", "object:ab")
			s.cmd(t, "SET", "object:ab:upload:t", stored)
			state, err := rdb.Objects{Store: s.store}.Keep(t.Context(), upload)
			require.NoError(t, err)
			assert.Equal(t, want, state, stored)
			assert.Equal(t, want == rdb.ObjectKept, s.exists(t, "object:ab"))
		}
	})
}

func TestAMarkIsTakenAwayByItsOwnCollector(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		objects := rdb.Objects{Store: s.store, Elsewhere: true}
		s.cmd(t, "SET", "object:ab:leaving", "newer")
		require.NoError(t, objects.Gone(t.Context(), "ab", "older"))
		assert.True(t, s.exists(t, "object:ab:leaving"))
		require.NoError(t, objects.Gone(t.Context(), "ab", "newer"))
		assert.False(t, s.exists(t, "object:ab:leaving"))
	})
}

// A job that was stored again after Redis had lost it may have the outcome of an end before: only a cancellation that
// was told already stays as it was told.
func TestACancelledJobIsListedBesideAnEarlierEnd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "HSET", "outcomes", "a1", `{"state":"expired","name":"a","ended":1}`)
		s.cmd(t, "SADD", "cancelled", "a1")
		outcome, details := withDetails("cancelled", "a", "a1")
		rested, err := s.store.EndUnheld(t.Context(), []rdb.UnheldJob{{Spot: rdb.SpotQueue, Ending: rdb.Ending{
			ID: "a1", Queue: "a", State: "cancelled", Keep: time.Minute, Outcome: outcome, Details: details,
		}}})
		require.NoError(t, err)
		assert.Equal(t, []rdb.EndResult{"ended"}, rested)
		assert.Equal(t, string(outcome), s.hash(t, "outcomes")["a1"])
		assert.Equal(t, string(details), s.hash(t, "details:cancelled:a")["a1"])
		assert.Contains(t, s.scores(t, "ended:cancelled:a"), "a1")
	})
}
