package rdb_test

import (
	"crypto/sha1" // the name of a record that was read
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// modelLock is a lock as it stands in Redis, which may be void.
type modelLock struct {
	owner string
	until int64 // 0 is no end
	kind  rdb.LockKind
}

func (l modelLock) text() string { return fmt.Sprintf("%s %d %s", l.owner, l.until, l.kind) }

// holds tells whether the lock keeps others out.
func (m *model) holds(l modelLock, now int64) bool {
	if l.until != 0 && l.until <= now {
		return false
	}
	return l.kind == rdb.ForATime || m.jobs[l.owner] != nil
}

// newRecord is the record of a job. It says which lock it was stored with, by which those who end it know.
func newRecord(j rdb.NewJob, revision string) []byte {
	if j.Lock.Digest == "" {
		return fmt.Appendf(nil, `{"jid":%q,"name":%q,"rev":%q}`, j.ID, j.Queue, revision)
	}
	return fmt.Appendf(nil, `{"jid":%q,"name":%q,"rev":%q,"lock":%q,"lock_kind":%q,"life":%d}`, j.ID, j.Queue, revision,
		j.Lock.Digest, string(j.Lock.Kind), j.Lock.Life)
}

// lockOf reads the lock in a record; the zero value is none.
func lockOf(record string) rdb.Lock {
	var r struct {
		Lock string       `json:"lock"`
		Kind rdb.LockKind `json:"lock_kind"`
		Life time.Duration
	}
	_ = json.Unmarshal([]byte(record), &r) // what is no record has no lock
	return rdb.Lock{Digest: r.Lock, Kind: r.Kind, Life: r.Life}
}

func drawLock(t *rapid.T) rdb.Lock {
	lock := rdb.Lock{
		Digest: rapid.SampledFrom([]string{"d1", "d2"}).Draw(t, "digest"),
		Kind: rapid.SampledFrom([]rdb.LockKind{rdb.UntilBegun, rdb.UntilEnded, rdb.ForATime, rdb.UntilGone}).
			Draw(t, "kind of lock"),
	}
	if lock.Kind == rdb.ForATime || rapid.IntRange(0, 3).Draw(t, "with an end") == 0 {
		lock.Life = delay(t)
	}
	return lock
}

// admit says whether a lock keeps the new job out, and whose that is.
func (m *model) admit(j rdb.NewJob, now int64) (owner string, refused bool) {
	held, there := m.locks[j.Lock.Digest]
	if j.Lock.Digest == "" || !there || held.owner == j.ID || !m.holds(held, now) {
		return "", false
	}
	return held.owner, true
}

// lock gives the new job its lock.
func (m *machine) lock(t *rapid.T, j rdb.NewJob) {
	if delete(m.freed, j.ID); j.Lock.Digest == "" {
		return
	}
	lock := modelLock{owner: j.ID, kind: j.Lock.Kind}
	if j.Lock.Life > 0 {
		words := strings.Fields(text(m.site.cmd(t, "HGET", "unique", j.Lock.Digest)))
		require.Len(t, words, 3)
		lock.until = asInt(t, words[1])
		m.requireNow(t, lock.until-j.Lock.Life.Milliseconds(), "the lock "+j.Lock.Digest)
	}
	m.locks[j.Lock.Digest] = lock
}

// unlock frees the lock if it is the job's.
func (m *model) unlock(id, digest string) {
	if digest != "" && m.locks[digest].owner == id {
		delete(m.locks, digest)
		m.freed[id] = true
	}
}

// beginSome has a worker begin a job that is unique until then.
func (m *machine) beginSome(t *rapid.T) {
	m.beginOn(t, m.choose(t, "worker", func(a *actor) bool { return len(a.unbegun()) > 0 }))
}

// unbegun are the elements of the jobs that are unique until they begin, and may not have begun.
func (a *actor) unbegun() (elements []string) {
	for element, held := range a.held {
		if held.Kind == rdb.UntilBegun {
			elements = append(elements, element)
		}
	}
	slices.Sort(elements)
	return elements
}

func (m *machine) beginOn(t *rapid.T, a *actor) {
	held := a.held[rapid.SampledFrom(a.unbegun()).Draw(t, "job")]
	id, claim, digest := a.id, held.Claim, held.Lock
	if answer, ok := m.request(t, step{
		title: id + " begins " + claim.Element + ", which is unique until then",
		send:  func(store *rdb.Store) (any, error) { return store.Worker(id).Begin(background, claim, digest) },
		execute: func() any {
			if !slices.Contains(m.inProcess[id][claim.Queue], claim.Element) {
				return false
			}
			if m.locks[digest].kind == rdb.UntilBegun {
				m.unlock(idOf(claim.Element), digest)
			}
			return true
		},
	}); ok && answer.(bool) {
		held.Lock, held.Kind = "", ""
		a.held[claim.Element] = held
	}
}

// voidSome is what the janitor does with locks that hold nothing any more.
func (m *machine) voidSome(t *rapid.T) {
	digests := slices.Collect(maps.Keys(m.locks))
	if len(digests) == 0 {
		t.Skip("nothing is locked")
	}
	page := m.site.cmd(t, "HSCAN", "unique", "0", "COUNT", rdb.MaxBatch)
	m.request(t, step{
		title: "locks that hold nothing are removed",
		send: func(store *rdb.Store) (any, error) {
			_, removed, err := m.seen(store, page).FreeLocks(background, "")
			return removed, err
		},
		execute: func() any {
			removed := 0
			for _, digest := range digests {
				if lock, there := m.locks[digest]; there && !m.holds(lock, m.before) {
					delete(m.locks, digest)
					removed++
				}
			}
			return removed
		},
	})
}

// amendSome changes the args of a job, as an enqueue does that meets its lock, and perhaps puts it off.
func (m *machine) amendSome(t *rapid.T) {
	from := m.seeSome(t)
	read := m.jobs[from.ID].record
	of := rdb.NewJob{ID: from.ID, Queue: from.Queue, Lock: lockOf(read)}
	a := rdb.Amendment{ID: from.ID, Read: []byte(read), New: newRecord(of, m.name("r"))}
	if rapid.IntRange(0, 4).Draw(t, "seen wrongly") == 0 {
		a.Read = []byte("another")
	}
	if rapid.Bool().Draw(t, "put off") {
		a.Place, a.When = rdb.In, delay(t).Milliseconds()
	}
	m.request(t, step{
		title: fmt.Sprintf("%s is amended to %s, put off %q %d", a.ID, a.New, a.Place, a.When),
		send:  func(store *rdb.Store) (any, error) { return store.Amend(background, a) },
		execute: func() any {
			return m.amend(t, a)
		},
	})
}

func (m *machine) amend(t *rapid.T, a rdb.Amendment) rdb.Amended {
	job := m.jobs[a.ID]
	if job == nil {
		return rdb.AmendGone
	}
	if job.record == string(a.New) {
		return rdb.AmendDone
	}
	if _, held := m.claimed[a.ID]; held {
		return rdb.AmendHeld
	}
	if sha1.Sum([]byte(job.record)) != sha1.Sum(a.Read) {
		return rdb.AmendOther
	}
	due, waits := m.shelves[rdb.ShelfScheduled][a.ID]
	if a.Place == rdb.In && !waits {
		return rdb.AmendDue
	}
	if job.record = string(a.New); a.Place == rdb.In {
		at := asInt(t, text(m.site.cmd(t, "ZSCORE", "scheduled", a.ID)))
		require.GreaterOrEqual(t, at, max(due, m.before+a.When), "%s is put off, and never to an earlier time", a.ID)
		require.LessOrEqual(t, at, max(due, m.after+a.When), a.ID)
		if at != due {
			m.shelve(rdb.ShelfScheduled, a.ID, at)
		}
	}
	return rdb.AmendDone
}

// loseOwner takes the record of a job that has a lock and waits in its queue: the id there is no job any more. An id
// that was chosen might come again, and stand in two places.
func (m *machine) loseOwner(t *rapid.T) {
	var ids []string
	for _, lock := range m.locks {
		if job := m.jobs[lock.owner]; job != nil && slices.Contains(m.queues[job.queue], lock.owner) &&
			!slices.Contains(ids, lock.owner) && lock.owner[0] == 'j' {
			ids = append(ids, lock.owner)
		}
	}
	if len(ids) == 0 {
		t.Skip("no owner of a lock waits in a queue")
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "owner")
	m.logf(t, "damage: the record of %s is lost, which has a lock", id)
	for _, key := range []string{"jobs", "trail", "crashes", "waited"} {
		m.site.cmd(t, "HDEL", key, id)
	}
	m.site.cmd(t, "SREM", "cancelled", id)
	delete(m.jobs, id)
	delete(m.waited, id)
	delete(m.cancelled, id)
	m.ended[id] = true // so nobody asks for it, though its enqueue may be answered later
}

// checkLocks: whoever has a lock keeps it until it ends, is buried or begins as the kind of the lock says, so that no
// two that live have the same one.
func (m *machine) checkLocks(t *rapid.T, state redisState) {
	for id, record := range state.maps["jobs"] {
		lock := lockOf(record)
		if lock.Digest == "" || lock.Life > 0 || m.freed[id] {
			continue
		}
		require.Equal(t, modelLock{owner: id, kind: lock.Kind}.text(), state.maps["unique"][lock.Digest],
			"%s keeps its lock", id)
	}
}

// requireNoLockLeft: when all is over, a lock is left only to those who wanted it for a time that is not over, or lie
// in the morgue.
func (m *machine) requireNoLockLeft(t *rapid.T) {
	m.voidSomeIfAny(t)
	for digest, lock := range m.site.hash(t, "unique") {
		words := strings.Fields(lock)
		_, buried := m.shelves[rdb.ShelfMorgue][words[0]]
		require.True(t, words[2] == string(rdb.ForATime) || buried && words[2] == string(rdb.UntilGone),
			"the lock %s of %s is left", digest, lock)
	}
}

func (m *machine) voidSomeIfAny(t *rapid.T) {
	if len(m.locks) > 0 {
		m.voidSome(t)
	}
}

// ageLocks moves the times of the locks into the past, on a real Redis.
func (m *machine) ageLocks(t *rapid.T, ms int64) {
	for digest, value := range m.site.hash(t, "unique") {
		if words := strings.Fields(value); words[1] != "0" {
			words[1] = strconv.FormatInt(asInt(t, words[1])-ms, 10)
			m.site.cmd(t, "HSET", "unique", digest, strings.Join(words, " "))
		}
	}
}
