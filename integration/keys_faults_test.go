package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultKilledUnderLimitsOfKeys kills processes among jobs of keys that have two places each, and of keys that are
// ordered, each of whose jobs fails at first. No more of a key run than its limit, no order is broken, and each job
// ends.
func TestFaultKilledUnderLimitsOfKeys(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	f.killAmongKeys("workers", func() {})
}

// TestFaultRedisKilledUnderLimitsOfKeys kills the Redis as well, which writes everything to disk before it answers: now
// before a worker, now after it, so that it comes back to claims of the living or of the dead.
func TestFaultRedisKilledUnderLimitsOfKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	f.killAmongKeys("workers, and as many of Redis,", func() {
		server.Kill()
		require.NoError(t, server.Restart())
	})
	for _, what := range []string{dataLost, fenced} {
		assert.Empty(t, f.ledger.of(what, 0), what)
	}
}

// killAmongKeys kills processes one after the other among jobs of keys, and does something else, now before and now
// after that. whom is told in the figures.
func (f *fleet) killAmongKeys(whom string, also func()) {
	t := f.t
	t.Helper()
	const keys = 6
	pairs, orders := pick(60, 400), pick(6, 40)
	limited, ordered := f.ofKeys("paired", keys, pairs, 10), f.ofKeys("ordered", keys, orders, 3)
	workers := []*process{f.start(8), f.start(8), f.start(8)}
	kills := pick(3, 10)
	for i := range kills {
		f.ledger.await(t, ended, 0, keys*(pairs+orders)*(i+1)/(kills+3))
		if i%2 == 0 {
			also()
		}
		workers[i%len(workers)].kill()
		if i%2 == 1 {
			also()
		}
		workers[i%len(workers)] = f.start(8)
	}
	f.settled()
	repeated := f.explained()
	for key, ids := range limited {
		of := map[string]bool{}
		for _, id := range ids {
			of[id] = true
		}
		together := f.togetherOf(of)
		assert.LessOrEqual(t, together, paired, key)
		assert.GreaterOrEqual(t, together, paired, "the limit was used, of %s", key)
	}
	for key, ids := range ordered {
		f.inOrder(key, ids)
	}
	for _, of := range []string{"turns", "parked", "holding", "keyed"} {
		left, err := f.sum("EXISTS", of)
		assert.NoError(t, err)
		assert.Zero(t, left, of)
	}
	f.healthy()
	measured(t, fmt.Sprintf("%d SIGKILLs of %s over %d jobs of keys with two places, and %d of ordered keys that "+
		"fail once", kills, whom, keys*pairs, keys*orders),
		"never above a limit, no order broken, lost 0; %d begins repeated, each held by a victim at its kill", repeated)
}

// ofKeys enqueues jobs of several keys in turn, so many of each, and returns their ids by key, in order.
func (f *fleet) ofKeys(name string, keys, each, ms int) map[string][]string {
	f.t.Helper()
	var entries []work.Entry
	for range each {
		for k := range keys {
			entries = append(entries, work.Entry{Name: name, Args: []any{ms},
				Options: []work.EnqueueOption{work.Key(fmt.Sprintf("%s-%d", name, k))}})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	receipts, err := f.enq.EnqueueMany(ctx, entries)
	require.NoError(f.t, err)
	ids := map[string][]string{}
	for i, receipt := range receipts {
		key := fmt.Sprintf("%s-%d", name, i%keys)
		ids[key] = append(ids[key], receipt.ID)
		f.accepted = append(f.accepted, receipt.ID)
	}
	return ids
}

// inOrder checks that each of these jobs began, each time that it did, after those before it had ended.
func (f *fleet) inOrder(key string, order []string) {
	f.t.Helper()
	nth := map[string]int{}
	for i, id := range order {
		nth[id] = i
	}
	var happened []entry
	for _, what := range []string{begun, ended} {
		for _, e := range f.ledger.of(what, 0) {
			if _, ours := nth[e.Of]; ours {
				happened = append(happened, e)
			}
		}
	}
	slices.SortStableFunc(happened, func(a, b entry) int { return a.At.Compare(b.At) })
	now := 0
	for _, e := range happened {
		switch at := nth[e.Of]; {
		case e.What == ended:
			now = max(now, at)
		case at == now || at == now+1: // one that was killed after it had ended, and before that was told, runs again
			now = max(now, at)
		default:
			assert.Fail(f.t, "the order of a key is broken", "%s: number %d begins when %d was to", key, at, now)
		}
	}
	for i, id := range order[1:] {
		first := slices.IndexFunc(happened, func(e entry) bool { return e.Of == id && e.What == begun })
		before := slices.IndexFunc(happened, func(e entry) bool { return e.Of == order[i] && e.What == ended })
		assert.True(f.t, before >= 0 && before < first, "%s: number %d began before number %d had ended", key, i+1, i)
	}
}
