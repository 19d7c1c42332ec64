package rdb_test

import (
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/peopledb"
)

// telling are the transitions of what people have done, and of what they are told.
func telling() []transition {
	keep := func(token string, life time.Duration, changed ...peopledb.Incident) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			return peopledb.Of(store).KeepIncidents(background, token, life, changed...)
		}
	}
	stands := func(t *testing.T, s *site) {
		s.cmd(t, "SET", "alerts:teller", "one", "PX", 30_000)
		s.cmd(t, "HSET", "alerts", "redis-full", "{}", "no-workers", "{}")
	}
	return []transition{
		{name: "audit", script: "audit/add", timed: true, prepare: func(*testing.T, *site) {},
			send: func(_ *site, store *rdb.Store) (any, error) {
				return nil, peopledb.Of(store).AddAudit(background, peopledb.Audited{ID: "id", Text: "{}"})
			}},
		{name: "incidents, the first", script: "alert/keep", prepare: func(*testing.T, *site) {},
			send: keep("one", time.Minute, peopledb.Incident{Rule: "no-workers", Text: "{}"})},
		{name: "incidents, over", script: "alert/keep", prepare: stands,
			send: keep("one", time.Minute, peopledb.Incident{Rule: "no-workers"})},
		{name: "incidents, given back", script: "alert/keep", prepare: stands, send: keep("one", 0)},
	}
}

// callsOfTelling has each of their methods make its call.
func callsOfTelling(store *rdb.Store) {
	_ = peopledb.Of(store).AddAudit(background, peopledb.Audited{ID: "id", Text: "{}"})
	_, _ = peopledb.Of(store).KeepIncidents(background, "one", time.Minute, peopledb.Incident{Rule: "a", Text: "{}"})
}
