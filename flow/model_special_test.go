package flow_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/rdb"
)

// modelTerms are what a member of a model has beside its job. Its lock is of its name.
type modelTerms struct {
	lock  string // kind: f or m; "" is none
	timed bool   // in an hour, which never comes by itself
	key   string
}

// specialOrNot decides whether jobs may have terms: the others are those that cost nothing.
func (m *model) specialOrNot(r *rand.Rand) {
	if r.IntN(2) == 0 {
		m.said.special = r
	}
}

// terms gives a member some at random.
func (m *model) terms() modelTerms {
	r := m.said.special
	if r == nil {
		return modelTerms{}
	}
	return modelTerms{lock: []string{"", "", "f", "m"}[r.IntN(4)], timed: r.IntN(4) == 0,
		key: []string{"", "", "k1", "k2"}[r.IntN(4)]}
}

// entry is what stores a member of that id.
func (m *modelMember) entry(id string) work.Entry {
	entry := work.Entry{Name: m.queue}
	if m.timed {
		entry.In = time.Hour
	}
	if m.key != "" {
		entry.Options = append(entry.Options, work.Key(m.key))
	}
	if m.lock != "" {
		entry.Options = append(entry.Options, m.unique(id))
	}
	return entry
}

func (t modelTerms) unique(id string) work.EnqueueOption {
	return work.Unique(work.UniqueOptions{Key: id, KeepInMorgue: t.lock == "m"})
}

// member is the member of that id.
func (m *model) member(id string) *modelMember {
	of, name := m.at(id)
	return of.members[name]
}

// holds tells whether a member has its lock: it waits in a flow that goes on, or lives, or is dead and keeps it.
func (d *machine) holds(id string) bool {
	of, name := d.at(id)
	member := of.members[name]
	switch {
	case member.lock == "":
		return false
	case member.state == "waits" && (of.state == "running" || of.state == "held"), d.living[id]:
		return true
	}
	return member.lock == "m" && slices.Contains(d.Strings("ZRANGE", "morgue", 0, -1), id)
}

// otherID is the id of the job beside the flow that is the same as a member.
func otherID(id string) string { return "other." + strings.ReplaceAll(id, "/", ".") }

// other has a job of its own that is the same as some member stored: it is a duplicate where that has its lock.
func (d *machine) other() {
	jobs := d.jobs("")
	if len(jobs) == 0 {
		return
	}
	id := jobs[d.r.IntN(len(jobs))]
	member := d.member(id)
	if member.lock == "" {
		return
	}
	opts := []work.EnqueueOption{member.unique(id), work.ID(otherID(id))}
	if member.key != "" {
		opts = append(opts, work.Key(member.key))
	}
	receipt, err := d.Enq.With(opts...).EnqueueIn(d.Ctx(), member.queue, time.Hour)
	require.NoError(d.T, err)
	switch {
	case d.others[id]:
		require.Equal(d.T, otherID(id), receipt.ID)
	case d.holds(id):
		require.True(d.T, receipt.Duplicate, id)
		require.Equal(d.T, id, receipt.ID)
	default:
		require.False(d.T, receipt.Duplicate, id)
		d.note("another one like %s", id)
		d.others[id] = true
	}
}

// noOthers deletes those jobs.
func (d *machine) noOthers() {
	for id := range d.others {
		require.NoError(d.T, d.hand.Delete(d.Ctx(), otherID(id)))
		delete(d.others, id)
	}
}

// again are the jobs that a retry of the flow would have run once more.
func (m *model) again(living map[string]bool) (ids []string) {
	if m.state != "dead" && m.state != "cancelled" {
		return nil
	}
	for _, name := range m.names {
		switch member, id := m.members[name], m.id+"/"+name; {
		case member.state == "done" || living[id]:
		case member.inner != nil:
			ids = append(ids, member.inner.again(living)...)
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// retryLocked retries a flow of which members meet locks, and returns with these free.
func (d *machine) retryLocked(m *model) {
	meets := slices.DeleteFunc(m.again(d.living), func(id string) bool { return !d.others[id] })
	if len(meets) == 0 {
		return
	}
	_, err := flow.Retry(d.Ctx(), d.Enq, m.id)
	held := new(flow.LockError)
	require.ErrorAs(d.T, err, &held)
	require.Contains(d.T, meets, held.Flow+"/"+held.Member)
	require.Equal(d.T, otherID(held.Flow+"/"+held.Member), held.Holder)
	require.Equal(d.T, m.state, string(d.stateOf(m.id)))
	d.noOthers()
}

// retriedByHand is a dead member that somebody has tried to retry: another one may have its lock.
func (d *machine) retriedByHand(id string, err error) bool {
	if held := new(work.DuplicateError); errors.As(err, &held) {
		require.True(d.T, d.others[id], id)
		require.Equal(d.T, otherID(id), held.ID)
		return false
	}
	require.NoError(d.T, err)
	require.False(d.T, d.others[id], id)
	return true
}

// comes has the time come of those that wait for it.
func (d *machine) comes() {
	var due []rdb.Waiting
	for _, id := range d.Strings("ZRANGE", "scheduled", 0, -1) {
		if strings.HasPrefix(id, "f/") && d.r.IntN(2) == 0 {
			d.note("the time of %s", id)
			d.Number("ZADD", "scheduled", "XX", "CH", 1, id)
			due = append(due, rdb.Waiting{ID: id, Queue: d.member(id).queue})
			d.came[id] = true
		}
	}
	moved, err := d.store.Due(d.Ctx(), rdb.ShelfScheduled, rdb.DueCall{Move: due})
	require.NoError(d.T, err)
	require.Equal(d.T, len(due), moved.Moved)
}

// waiting are the members that wait in queues, in line or for their time, and it checks that each is where it belongs.
func (d *machine) waiting() (ids []string) {
	members := func(command, key string) []string {
		return slices.DeleteFunc(d.Strings(command, key, 0, -1), func(id string) bool {
			return !strings.HasPrefix(id, "f/")
		})
	}
	for _, queue := range []string{"q0", "q1", "q2"} {
		for _, id := range members("LRANGE", "queue:"+queue) {
			assert.Empty(d.T, d.member(id).key, "%s has a key", id)
			assert.True(d.T, !d.member(id).timed || d.came[id], "%s has a time", id)
			ids = append(ids, id)
		}
	}
	for _, id := range members("ZRANGE", "turns") {
		assert.NotEmpty(d.T, d.member(id).key, "%s has no key", id)
		assert.True(d.T, !d.member(id).timed || d.came[id], "%s has a time", id)
		ids = append(ids, id)
	}
	for _, id := range members("ZRANGE", "scheduled") {
		assert.True(d.T, d.member(id).timed && !d.came[id], "%s has no time, or it has come", id)
		ids = append(ids, id)
	}
	return ids
}

// checkLocks compares who has which lock, and as what, and the keys of those that live.
func (d *machine) checkLocks() {
	var want []string
	for _, id := range d.jobs("") {
		member := d.member(id)
		switch {
		case d.others[id]:
			want = append(want, otherID(id)+" 0 "+member.lock)
		case !d.holds(id):
		case d.living[id] || member.state != "waits":
			want = append(want, id+" 0 "+member.lock)
		default:
			want = append(want, id+" 0 t")
		}
		if d.living[id] && d.said.special != nil {
			known := ""
			if member.key != "" {
				known = "1 " + member.key
			}
			require.Equal(d.T, known, d.Text("HGET", "keyed", id), id)
		}
	}
	slices.Sort(want)
	if have := d.locks(); len(want)+len(have) > 0 {
		require.Equal(d.T, want, have, "locks")
	}
}
