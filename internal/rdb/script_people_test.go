package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/peopledb"
)

// audited are the ids of entries, the newest first.
func (s *site) audited(t *testing.T, before peopledb.Audited, most int) (found []peopledb.Audited) {
	t.Helper()
	require.NoError(t, peopledb.Of(s.store).Audit(t.Context(), before, func(a peopledb.Audited) bool {
		found = append(found, a)
		return len(found) < most
	}))
	return found
}

// Sent again an entry keeps its time; a page goes on where the last one ended, also within one millisecond.
func TestWhatPeopleDidIsNotedOnceAndReadInPages(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		require.NoError(t, peopledb.Of(s.store).AddAudit(t.Context(), peopledb.Audited{ID: "x", Text: `{"a":1}`}))
		first := s.audited(t, peopledb.Audited{}, 10)
		s.pass(t, 10*time.Millisecond)
		require.NoError(t, peopledb.Of(s.store).AddAudit(t.Context(), peopledb.Audited{ID: "x", Text: `{"a":1}`}))
		require.Equal(t, first, s.audited(t, peopledb.Audited{}, 10))
		assert.Equal(t, `{"a":1}`, first[0].Text)
		assert.WithinDuration(t, s.now(t), first[0].At, time.Minute)

		for n := range 450 { // of one millisecond, more than a reply has
			s.cmd(t, "ZADD", "audit", first[0].At.UnixMilli()+1, fmt.Sprintf("%03d {}", n))
		}
		var ids []string
		for at := (peopledb.Audited{}); ; {
			page := s.audited(t, at, 100)
			for _, a := range page {
				ids = append(ids, a.ID)
			}
			if len(page) < 100 {
				break
			}
			at = page[99]
		}
		require.Len(t, ids, 451)
		assert.Equal(t, []string{"449", "448", "000", "x"}, []string{ids[0], ids[1], ids[449], ids[450]})
	})
}

func TestWhatPeopleDidIsBounded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t).UnixMilli()
		fill := func(from, n int, at int64) {
			for n > 0 {
				args := []any{"audit"}
				for range min(n, 1000) {
					args = append(args, at, fmt.Sprintf("%06d {}", from))
					from, n = from+1, n-1
				}
				s.cmd(t, "ZADD", args[0].(string), args[1:]...)
			}
		}
		fill(0, peopledb.MaxAudit, now)
		require.NoError(t, peopledb.Of(s.store).AddAudit(t.Context(), peopledb.Audited{ID: "zzz", Text: "{}"}))
		assert.Equal(t, int64(peopledb.MaxAudit), s.cmd(t, "ZCARD", "audit"))
		assert.Nil(t, s.cmd(t, "ZSCORE", "audit", "000000 {}"), "the oldest went")
		assert.InDelta(t, peopledb.AuditKept.Milliseconds(), s.cmd(t, "PTTL", "audit"), 60_000)

		s.cmd(t, "UNLINK", "audit")
		fill(0, 150, now-peopledb.AuditKept.Milliseconds()-1000)
		fill(200, 1, now)
		for _, left := range []int64{52, 3, 4} { // a hundred at a time
			require.NoError(t, peopledb.Of(s.store).AddAudit(t.Context(),
				peopledb.Audited{ID: fmt.Sprint("new", left), Text: "{}"}))
			assert.Equal(t, left, s.cmd(t, "ZCARD", "audit"))
		}
	})
}

// One dashboard has the lease, notes and gives it back; the others are told so, and note nothing.
func TestOneDashboardTellsOfAlerts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		keep := func(token string, life time.Duration, changed ...peopledb.Incident) bool {
			kept, err := peopledb.Of(s.store).KeepIncidents(t.Context(), token, life, changed...)
			require.NoError(t, err)
			return kept
		}
		stand := func() map[string]string {
			stand, _, err := peopledb.Of(s.store).Incidents(t.Context())
			require.NoError(t, err)
			return stand
		}
		require.True(t, keep("one", time.Minute, peopledb.Incident{Rule: "a", Text: "1"},
			peopledb.Incident{Rule: "b", Text: "2"}))
		assert.False(t, keep("two", time.Minute, peopledb.Incident{Rule: "a"}))
		assert.Equal(t, map[string]string{"a": "1", "b": "2"}, stand())
		require.True(t, keep("one", time.Minute, peopledb.Incident{Rule: "a"}, peopledb.Incident{Rule: "b", Text: "3"}))
		assert.Equal(t, map[string]string{"b": "3"}, stand())
		assert.False(t, keep("two", 0), "who has none gives none back")
		assert.False(t, keep("two", time.Minute))
		require.True(t, keep("one", 0))
		const life = 100 * time.Millisecond // the clock of a real Redis goes as it goes
		require.True(t, keep("two", life))
		s.pass(t, 2*life)
		require.True(t, keep("one", time.Minute), "the other one has died")
		assert.InDelta(t, peopledb.IncidentsKept.Milliseconds(), s.cmd(t, "PTTL", "alerts"), 300_000)
	})
}

func TestARuleIsSilencedAndHeardAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		silenced := func() map[string]string {
			_, silenced, err := peopledb.Of(s.store).Incidents(t.Context())
			require.NoError(t, err)
			return silenced
		}
		require.NoError(t, peopledb.Of(s.store).Silence(t.Context(), "paused", "{}"))
		assert.Equal(t, map[string]string{"paused": "{}"}, silenced())
		assert.InDelta(t, peopledb.SilenceKept.Milliseconds(), s.cmd(t, "PTTL", "alerts:silenced"), 60_000)
		require.NoError(t, peopledb.Of(s.store).Silence(t.Context(), "paused", ""))
		assert.Empty(t, silenced())
	})
}
