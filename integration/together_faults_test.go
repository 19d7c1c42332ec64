package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// packed is what a handler reports of a batch before it does anything, with the ids of its jobs.
const packed = "packed"

// packs is how many jobs of the names that are taken together a batch may have.
const packs = 20

// How they are taken: whichever come, or those of one key.
var (
	together      = work.Together{Most: packs, Wait: 50 * time.Millisecond}
	togetherByKey = work.Together{Most: packs, Wait: 50 * time.Millisecond, ByKey: true}
)

// What is to become of a job that is taken together with others.
const (
	byItself = "by itself" // it is told to be done
	byBatch  = "by batch"  // nothing is said of it: it ends as the batch does
	retried  = "retried"   // it fails once
	spoilt   = "spoilt"    // it is buried
	held     = "held"      // it is done once the gate is open, and the batch waits for that
)

// pack runs jobs together, and says of each what becomes of it.
func (m *member) pack(ctx context.Context, batch work.Batch[string]) error {
	var all []string
	for _, item := range batch {
		all = append(all, item.Job.ID)
	}
	report(packed, strings.Join(all, " "))
	waits := time.After(20 * time.Millisecond)
	for _, item := range batch {
		report(begun, item.Job.ID)
		if item.Args == held {
			<-m.gate
		}
	}
	select {
	case <-waits:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, item := range batch {
		switch {
		case item.Args == spoilt:
			item.Fail(work.Bury(errors.New("it always fails")))
			continue
		case item.Args == retried && item.Job.Attempt == 1:
			report(erred, item.Job.ID)
			item.Fail(work.RetryIn(200*time.Millisecond, errors.New("the first attempt always fails")))
			continue
		case item.Args != byBatch:
			item.Fail(nil)
		}
		report(ended, item.Job.ID)
	}
	return nil
}

// item is a job that is taken together with others, as it was enqueued.
type item struct{ becomes, key string }

// pack enqueues so many jobs that are taken together, those of "parcel" with a few keys in turn.
func (f *fleet) pack(name string, many int, becomes ...string) map[string]item {
	f.t.Helper()
	entries, items := make([]work.Entry, many), make([]item, many)
	for i := range entries {
		items[i].becomes = becomes[i%len(becomes)]
		entries[i] = work.Entry{Name: name, Args: []any{items[i].becomes}}
		if name == "parcel" {
			items[i].key = fmt.Sprint("customer-", i/len(becomes)%3)
			entries[i].Options = []work.EnqueueOption{work.Key(items[i].key)}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	receipts, err := f.enq.EnqueueMany(ctx, entries)
	require.NoError(f.t, err)
	of := map[string]item{}
	for i, receipt := range receipts {
		of[receipt.ID] = items[i]
		f.accepted = append(f.accepted, receipt.ID)
		if items[i].becomes == spoilt {
			f.doomed = append(f.doomed, receipt.ID)
		}
	}
	return of
}

// TestFaultKilledInABatch kills a process that runs two batches, and has more jobs collected or fetched: each of them
// runs again, by itself.
func TestFaultKilledInABatch(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	victim := f.start(2)
	items := f.pack("pack", 3*packs-5, held)
	var ran []string
	for _, e := range f.ledger.await(t, packed, victim.pid, 2) {
		ran = append(ran, strings.Fields(e.Of)...)
	}
	victim.kill()
	survivor := f.start(4)
	survivor.open()
	f.settled()
	f.explained()
	f.outcomes(items)
	require.Greater(t, len(ran), 2, "they were batches")
	alone := map[string]bool{}
	for _, e := range f.ledger.of(packed, survivor.pid) {
		alone[e.Of] = true
	}
	for _, id := range ran {
		assert.True(t, alone[id], "by itself: %s", id)
	}
	f.healthy()
}

// TestFaultKilledAmongBatches kills processes in the middle of batches among jobs that are taken together, some of them
// by their keys, each with an outcome of its own. Two are killed at a time, before anybody knows of the first one: what
// two workers have died with would be put aside for half a minute.
func TestFaultKilledAmongBatches(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	const many = 1000
	becomes := []string{byItself, byBatch, retried, byItself, spoilt, byBatch, byBatch, retried, byItself, byItself}
	items, rounds := map[string]item{}, pick(1, 10)
	f.start(3)
	for range rounds {
		f.start(3)
		f.start(3)
		ends := len(f.ledger.of(ended, 0))
		maps.Copy(items, f.pack("pack", many/2, becomes...))
		maps.Copy(items, f.pack("parcel", many/2, becomes...))
		for kill := range 2 {
			f.ledger.await(t, ended, 0, ends+many/4*(kill+1))
			f.killInABatch()
		}
		f.settled()
	}
	f.explained()
	again := f.outcomes(items)
	assert.Positive(t, again, "batches were killed")
	f.healthy()
	measured(t, fmt.Sprintf("%d SIGKILLs of workers over %d jobs that are taken together by %d", 2*rounds, rounds*many,
		packs), "lost 0, each ended as was said of it; %d members of batches ran again, each by itself", again)
}

// killInABatch kills the process that is the next to begin a batch.
func (f *fleet) killInABatch() {
	f.t.Helper()
	seen := len(f.ledger.of(packed, 0))
	next := f.ledger.await(f.t, packed, 0, seen+1)[seen].Member
	for _, p := range f.processes {
		if p.pid == next {
			p.kill()
		}
	}
}

// outcomes checks that each of these jobs has ended as was said of it, that those that a process died with ran by
// themselves, and that no batch was of two keys. It returns how often the end of a process had jobs run again.
func (f *fleet) outcomes(items map[string]item) (again int) {
	f.t.Helper()
	failed, ends := map[string]int{}, f.ledger.times(ended)
	for _, e := range f.ledger.of(erred, 0) {
		failed[e.Of] = e.Member
	}
	for id, item := range items {
		_, hasFailed := failed[id]
		assert.Equal(f.t, item.becomes == retried, hasFailed, "%s fails once: %s", id, item.becomes)
		assert.Equal(f.t, item.becomes != spoilt, ends[id] > 0, "%s is done: %s", id, item.becomes)
	}
	last := map[string]entry{} // the batch that each was in
	for _, e := range f.ledger.byTime(packed) {
		batch := strings.Fields(e.Of)
		assert.LessOrEqual(f.t, len(batch), packs)
		for _, id := range batch {
			assert.Equal(f.t, items[batch[0]].key, items[id].key, "a batch of two keys")
			before := last[id]
			last[id] = e
			if _, died := f.killed[before.Member]; died && failed[id] != before.Member {
				again++
				assert.Len(f.t, batch, 1, "%s runs by itself, since process %d died with it", id, before.Member)
			}
		}
	}
	return again
}
