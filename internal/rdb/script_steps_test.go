package rdb_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	stored "github.com/265d0351/work/internal/record"
)

// stepBench is a job a1 that w1 holds.
type stepBench struct {
	*site
	t *testing.T
	w *rdb.Worker
	h *rdb.Holder
}

func newStepBench(t *testing.T, s *site) *stepBench {
	t.Helper()
	w := long(t, s)
	digest := rdb.RecordDigest([]byte(text(s.cmd(t, "HGET", "jobs", "a1"))))
	return &stepBench{s, t, w, &rdb.Holder{Claim: rdb.Claim{Queue: "a", Element: "1:a1"}, ID: "a1", Digest: digest}}
}

func (b *stepBench) write(name, value string) rdb.StepAnswer {
	b.t.Helper()
	answer, err := b.w.WriteSteps(b.t.Context(), b.h, []rdb.StoredStep{{Name: name, Text: value}})
	require.NoError(b.t, err)
	return answer
}

func (b *stepBench) ask(wait rdb.Awaiting) string {
	b.t.Helper()
	answer, text, err := b.w.AskWait(b.t.Context(), b.h, wait)
	require.NoError(b.t, err)
	if answer != rdb.StepWritten {
		return string(answer)
	}
	return text
}

func (b *stepBench) send(number int64, name, message string) rdb.SendAnswer {
	b.t.Helper()
	answer, err := b.store.Send(b.t.Context(),
		rdb.Letter{ID: "a1", Name: name, JSON: []byte(message), Lane: "lane", Number: number})
	require.NoError(b.t, err)
	return answer
}

func (b *stepBench) steps() map[string]string {
	b.t.Helper()
	steps, err := b.store.Steps(b.t.Context(), "a1", b.h.Digest)
	require.NoError(b.t, err)
	return steps
}

func (b *stepBench) bytes() int {
	b.t.Helper()
	_, bytes, _ := strings.Cut(text(b.cmd(b.t, "HGET", "steps:a1", "")), " ")
	n, err := strconv.Atoi(bytes)
	require.NoError(b.t, err)
	return n
}

// park ends the claim of a job that waits.
func (b *stepBench) park(message string, until time.Time) {
	b.t.Helper()
	settle(b.t, b.w, b.w.Shelve(rdb.Shelved{Claim: b.h.Claim, Shelf: rdb.ShelfScheduled,
		Wait: rdb.Wait{Digest: b.h.Digest, Until: until, Message: message}}))
}

// due is in how many ms the job is due.
func (b *stepBench) due() time.Duration {
	b.t.Helper()
	score, err := strconv.ParseFloat(text(b.cmd(b.t, "ZSCORE", "scheduled", "a1")), 64)
	require.NoError(b.t, err)
	now, err := b.store.Time(b.t.Context())
	require.NoError(b.t, err)
	return time.UnixMilli(int64(score)).Sub(now)
}

func onStepBench(t *testing.T, test func(t *testing.T, b *stepBench)) {
	t.Helper()
	onEach(t, func(t *testing.T, s *site) { test(t, newStepBench(t, s)) })
}

func TestAStepIsWrittenOnceAndStays(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		b.h.Note = rdb.Note{Trail: []byte("news"), Fuller: []byte("more news")}
		assert.Equal(t, rdb.StepWritten, b.write("one", "1"))
		assert.Equal(t, rdb.StepWritten, b.write("one", "another"))
		assert.Equal(t, rdb.StepWritten, b.write("two", "22"))
		assert.Equal(t, map[string]string{"one": "1", "two": "22"}, b.steps())
		assert.Equal(t, len("one1two22"), b.bytes())
		assert.Equal(t, map[string]string{"a1": "news"}, b.hash(t, "trail"))
		assert.Greater(t, b.cmd(t, "PTTL", "steps:a1"), int64(365*24*3600*1000))
		b.cmd(t, "HSET", "trail", "a1", "more news")
		assert.Equal(t, rdb.StepWritten, b.write("three", "3"))
		assert.Equal(t, map[string]string{"a1": "more news"}, b.hash(t, "trail"), "a fuller note stays")

		settle(t, b.w, b.w.Release(rdb.Released{Queue: "a", Elements: []string{"1:a1"}}))
		assert.Equal(t, rdb.StepGone, b.write("four", "4"))
		assert.Equal(t, "gone", b.ask(rdb.Awaiting{Name: "rest"}))
		assert.Len(t, b.steps(), 3)
	})
}

func TestStepsOfAnEarlierJobOfTheIdCountAsNone(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(b *stepBench) string{
		"a step": func(b *stepBench) string { return string(b.write("one", "1")) },
		"a wait": func(b *stepBench) string { return b.ask(rdb.Awaiting{Name: "one", Message: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStepBench(t, func(t *testing.T, b *stepBench) {
				b.cmd(t, "HSET", "steps:a1", "", "other 100", "one", "slept 1 2", "zero", "0")
				assert.Empty(t, b.steps())
				then(b)
				assert.Len(t, b.steps(), 1)
				assert.NotContains(t, b.steps()["one"], "slept")
				assert.Less(t, b.bytes(), 20)
			})
		})
	}
}

func TestStepsAreBoundedInNumberAndBytes(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		var all []rdb.StoredStep
		for i := range rdb.MaxSteps - 1 {
			all = append(all, rdb.StoredStep{Name: fmt.Sprint(i), Text: "x"})
		}
		answer, err := b.w.WriteSteps(t.Context(), b.h, all)
		require.NoError(t, err)
		require.Equal(t, rdb.StepWritten, answer)
		assert.Equal(t, rdb.StepFull, b.write("large", strings.Repeat("x", rdb.MaxStepBytes-b.bytes()-len("large")+1)))
		assert.Equal(t, rdb.StepWritten, b.write("large", strings.Repeat("x", rdb.MaxStepBytes-b.bytes()-len("large"))))
		assert.Equal(t, rdb.StepFull, b.write("one more", ""))
		assert.Equal(t, "full", b.ask(rdb.Awaiting{Name: "rest", Lasts: time.Hour}))
		assert.Equal(t, rdb.StepWritten, b.write("7", "x"), "what is there is no more")
		assert.Len(t, b.steps(), rdb.MaxSteps)
	})
	t.Run("a wait that grows", func(t *testing.T) {
		t.Parallel()
		onStepBench(t, func(t *testing.T, b *stepBench) {
			assert.Equal(t, rdb.StepWritten, b.write("large", strings.Repeat("x", rdb.MaxStepBytes-100)))
			assert.Equal(t, "wait 0", b.ask(rdb.Awaiting{Name: "m", Message: true}))
			assert.Equal(t, rdb.SendDone, b.send(1, "m", `"`+strings.Repeat("x", 100)+`"`))
			assert.Equal(t, "full", b.ask(rdb.Awaiting{Name: "m", Message: true}))
			assert.Equal(t, int64(2), b.cmd(t, "LLEN", "mail:a1"), "the message stays")
		})
	})
}

func TestFewerStepsThanWereKnownAreLost(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		b.write("one", "1")
		b.h.Known = 2
		assert.Equal(t, rdb.StepLost, b.write("two", "2"))
		assert.Equal(t, "lost", b.ask(rdb.Awaiting{Name: "rest"}))
		b.h.Known = 1
		assert.Equal(t, rdb.StepWritten, b.write("two", "2"))
	})
}

func TestAWaitKeepsTheEndThatItHadFirst(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		year := 400 * 24 * time.Hour
		first := b.ask(rdb.Awaiting{Name: "rest", Lasts: year})
		step, err := stored.DecodeStep(first)
		require.NoError(t, err)
		assert.Equal(t, stored.StepSleeping, step.Kind)
		now, err := b.store.Time(t.Context())
		require.NoError(t, err)
		assert.WithinRange(t, step.Until, now.Add(year-time.Minute), now.Add(year))
		assert.Equal(t, first, b.ask(rdb.Awaiting{Name: "rest", Lasts: time.Hour}))
		outlives := (year + 360*24*time.Hour).Milliseconds()
		assert.Greater(t, b.cmd(t, "PTTL", "steps:a1"), outlives)
		b.write("one", "1")
		assert.Greater(t, b.cmd(t, "PTTL", "steps:a1"), outlives)

		b.cmd(t, "HSET", "steps:a1", "rest", "sleep 5", "mail", "wait 5")
		assert.Regexp(t, `^slept 5 \d{13}$`, b.ask(rdb.Awaiting{Name: "rest", Lasts: time.Hour}))
		late := b.ask(rdb.Awaiting{Name: "mail", Message: true})
		assert.Regexp(t, `^late 5 \d{13}$`, late)
		assert.Equal(t, rdb.SendDone, b.send(1, "mail", "1"))
		assert.Equal(t, late, b.ask(rdb.Awaiting{Name: "mail", Message: true}), "too late is too late")
		assert.Equal(t, "wait 0", b.ask(rdb.Awaiting{Name: "other", Message: true}))
	})
}

func TestAMessageIsTakenAsAStep(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		for i, name := range []string{"m", "mm", "m m", "m"} {
			assert.Equal(t, rdb.SendDone, b.send(int64(i+1), name, fmt.Sprint(i)))
		}
		assert.Regexp(t, `^message \d{13} \d{13}\n2$`, b.ask(rdb.Awaiting{Name: "m m", Message: true}))
		assert.Regexp(t, `^message \d{13} \d{13}\n0$`, b.ask(rdb.Awaiting{Name: "m", Message: true}))
		assert.Regexp(t, `^message \d{13} \d{13}\n0$`, b.ask(rdb.Awaiting{Name: "m", Message: true}), "asked again")
		left := texts(t, b.cmd(t, "LRANGE", "mail:a1", 0, -1))
		require.Len(t, left, 3)
		assert.Equal(t, fmt.Sprintf("%s %d", b.h.Digest, len(left[1])+len(left[2])), left[0])
		assert.Regexp(t, "^[0-9]{13} mm\x001$", left[1])
		assert.Regexp(t, "^[0-9]{13} m\x003$", left[2])
		assert.Equal(t, "wait 0", b.ask(rdb.Awaiting{Name: "other", Message: true}))
		steps := b.steps()
		total := 0
		for name, text := range steps {
			total += len(name) + len(text)
		}
		assert.Equal(t, total, b.bytes())
	})
}

func TestWhoWaitsForAMessageIsDueWithIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asked, parked, sent string
		before              bool
		soon                bool
	}{
		"sent after it left":             {asked: "m", parked: "m", sent: "m", soon: true},
		"sent before it left":            {asked: "m", parked: "m", sent: "m", before: true, soon: true},
		"another one, sent after":        {asked: "m", parked: "m", sent: "other"},
		"another one, sent before":       {asked: "m", parked: "m", sent: "other", before: true},
		"of one that sleeps":             {sent: "m"},
		"of one that sleeps, before":     {sent: "m", before: true},
		"of another name, that it asked": {asked: "m", parked: "m", sent: "mm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStepBench(t, func(t *testing.T, b *stepBench) {
				if tt.asked != "" {
					require.Equal(t, "wait 0", b.ask(rdb.Awaiting{Name: tt.asked, Message: true}))
				}
				if tt.before {
					assert.Equal(t, rdb.SendDone, b.send(1, tt.sent, "1"))
					assert.Equal(t, int64(0), b.cmd(t, "ZCARD", "scheduled"), "who is held is not moved")
				}
				now, err := b.store.Time(t.Context())
				require.NoError(t, err)
				b.park(tt.parked, now.Add(1000*time.Hour))
				if !tt.before {
					assert.Greater(t, b.due(), 900*time.Hour)
					assert.Equal(t, rdb.SendDone, b.send(1, tt.sent, "1"))
				}
				if tt.soon {
					assert.LessOrEqual(t, b.due(), time.Duration(0))
				} else {
					assert.Greater(t, b.due(), 900*time.Hour)
				}
			})
		})
	}
}

func TestAMessageOfTheNameOfASleepWakesNobody(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		b.ask(rdb.Awaiting{Name: "m", Lasts: 1000 * time.Hour})
		now, err := b.store.Time(t.Context())
		require.NoError(t, err)
		b.park("", now.Add(1000*time.Hour))
		assert.Equal(t, rdb.SendDone, b.send(1, "m", "1"))
		assert.Greater(t, b.due(), 900*time.Hour)
	})
}

func TestAMailboxIsBoundedAndOfOneJob(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		assert.Equal(t, rdb.SendDone, b.send(5, "m", "1"))
		assert.Equal(t, rdb.SendDone, b.send(5, "m", "1"), "sent again")
		assert.Equal(t, int64(2), b.cmd(t, "LLEN", "mail:a1"))
		_, err := b.store.Send(t.Context(), rdb.Letter{ID: "a1", Name: "m", JSON: []byte("0"), Lane: "lane", Number: 4})
		require.ErrorContains(t, err, "STALE")
		large := strings.Repeat("x", rdb.MaxMailboxBytes-2*len("1795700310789 m\x00")-1)
		assert.Equal(t, rdb.SendFull, b.send(6, "m", large+"x"))
		assert.Equal(t, rdb.SendDone, b.send(6, "m", large))
		assert.Equal(t, rdb.SendFull, b.send(7, "", ""))

		b.cmd(t, "LSET", "mail:a1", 0, "other 9")
		assert.Equal(t, rdb.SendDone, b.send(8, "m", "2"), "what an earlier job of the id has left goes")
		for i := range rdb.MaxMessages - 1 {
			require.Equal(t, rdb.SendDone, b.send(int64(9+i), "m", "2"))
		}
		assert.Equal(t, rdb.SendFull, b.send(1000, "m", "2"))
		assert.Equal(t, int64(rdb.MaxMessages+1), b.cmd(t, "LLEN", "mail:a1"))
		assert.Positive(t, b.cmd(t, "PTTL", "mail:a1"))
		b.h.Digest = "another"
		assert.Equal(t, "wait 0", b.ask(rdb.Awaiting{Name: "m", Message: true}), "of another record")
		answer, err := b.store.Send(t.Context(), rdb.Letter{ID: "none", Name: "m", Lane: "lane", Number: 2000})
		require.NoError(t, err)
		assert.Equal(t, rdb.SendGone, answer)
	})
}

func TestMailboxesOfNoJobGoAfterAnHour(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "lives")
		now, err := s.store.Time(t.Context())
		require.NoError(t, err)
		for id, age := range map[string]time.Duration{"lives": 2 * time.Hour, "new": 50 * time.Minute,
			"old": 2 * time.Hour} {
			s.cmd(t, "HSET", "mailed", id, now.Add(-age).UnixMilli())
			s.cmd(t, "RPUSH", "mail:"+id, "x")
		}
		s.cmd(t, "HSET", "mailed", "torn", "x")
		next, removed, err := s.store.RemoveJoblessMail(t.Context(), "")
		require.NoError(t, err)
		assert.Equal(t, "0", next)
		assert.Equal(t, 1, removed)
		assert.ElementsMatch(t, []string{"lives", "new"}, texts(t, s.cmd(t, "HKEYS", "mailed")))
		for id, there := range map[string]int64{"lives": 1, "new": 1, "old": 0} {
			assert.Equal(t, there, s.cmd(t, "EXISTS", "mail:"+id), id)
		}
		mailed, err := s.store.Mailed(t.Context(), []string{"lives", "old"})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"lives": true, "old": false}, mailed)
	})
}

func TestAJobThatEndsTakesStepsAndMailAlong(t *testing.T) {
	t.Parallel()
	onStepBench(t, func(t *testing.T, b *stepBench) {
		b.write("one", "1")
		b.send(1, "m", "1")
		settle(t, b.w, b.w.End(b.h.Claim, rdb.Ending{ID: "a1", Queue: "a", State: "done",
			Belongings: rdb.Belongings{State: true}}))
		assert.Equal(t, int64(0), b.cmd(t, "EXISTS", "steps:a1", "mail:a1"))
	})
}
