package rdb_test

import (
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// photo is all that Redis knew at some moment, as keys and as the model.
type photo struct {
	model *model
	keys  []photoKey
}

type photoKey struct {
	name    string
	left    int64 // ms to live, -1 for ever
	restore redisconn.Call
}

// writes are the commands that write a key of a type anew, from the reply to the command that reads it.
var writes = map[string]string{"list": "RPUSH", "hash": "HSET", "set": "SADD", "zset": "ZADD", "string": "SET"}

// photograph notes all that Redis knows now: a replica that lags behind from now on.
func (m *machine) photograph(t *rapid.T) {
	if m.epoch == "" || len(m.limbo) > 0 {
		t.Skip("too early, or something is damaged")
	}
	m.logf(t, "a replica falls behind")
	m.photo = &photo{model: m.model.clone(), keys: m.site.photograph(t)}
}

func (s *site) photograph(t require.TestingT) []photoKey {
	var keys []photoKey
	state := s.dump(t)
	for _, name := range slices.Concat(slices.Collect(maps.Keys(state.lists)), slices.Collect(maps.Keys(state.maps))) {
		kind := text(s.cmd(t, "TYPE", name))
		if kind == "none" {
			continue // it has expired meanwhile
		}
		args := []any{s.key(name)}
		content := []string{}
		switch value := s.cmd(t, commands[kind][0].(string), name, commands[kind][1:]...); {
		case kind != "string":
			content = texts(t, value)
		case value != nil:
			content = append(content, text(value))
		}
		if len(content) == 0 {
			continue // as above
		}
		for i := range content {
			if kind == "zset" { // the score comes first
				args = append(args, content[i^1])
			} else {
				args = append(args, content[i])
			}
		}
		keys = append(keys, photoKey{name, s.cmd(t, "PTTL", name).(int64),
			redisconn.Call{Command: writes[kind], Args: args}})
	}
	return keys
}

// failOver makes a replica that has fallen behind the primary. Clients keep what they know.
func (m *machine) failOver(t *rapid.T) {
	if m.photo == nil {
		t.Skip("no replica lags behind")
	}
	m.logf(t, "the replica takes over")
	for _, lane := range slices.Sorted(maps.Keys(m.lanes)) {
		m.giveUpLanded(t, lane)
	}
	m.site.eraseAll(t)
	for _, key := range m.photo.keys {
		_, err := m.site.driver.Pipeline(background, key.restore)
		require.NoError(t, err)
		if key.left >= 0 {
			m.site.cmd(t, "PEXPIRE", key.name, max(1, key.left))
		}
	}
	owed := m.owed
	m.model, m.photo = m.photo.model, nil
	maps.Copy(m.owed, owed)
	for _, a := range slices.Clone(m.actors) {
		m.noticeOn(t, a)
	}
}

// noticeOn has a worker meet the Redis that took over, by any of its calls, or only later.
func (m *machine) noticeOn(t *rapid.T, a *actor) {
	if !serving(a) || !m.calm && rapid.Bool().Draw(t, "meets it later") {
		return
	}
	if rapid.Bool().Draw(t, "settles first") && len(a.held) > 0 {
		m.settleOn(t, a, m.decide(t, a))
	}
	if !m.workers[a.id] {
		m.registerAnew(t, a)
	} else if a.reached > m.last[a.id] {
		switch rapid.SampledFrom([]string{"beat", "survey", "fetch"}).Draw(t, "notices by its") {
		case "beat":
			m.beatOn(t, a)
		case "survey":
			m.surveyOn(t, a)
		default:
			m.fetchOf(t, a)
		}
	}
	if serving(a) && a.restoring {
		m.restoreOn(t, a)
	}
}

// registerAnew registers a worker under its old id where nothing tells that it was declared dead.
func (m *machine) registerAnew(t *rapid.T, a *actor) {
	unknown, err := m.site.store.Worker(a.id).Unknown(background)
	require.NoError(t, err)
	require.Equal(t, !m.dead[a.id] && m.taken[a.id] == nil && m.stopped[a.id] == "" && m.serves[a.id] == nil, unknown,
		"whether nothing is known of %s", a.id)
	if !unknown {
		return
	}
	a.reached, a.from = 0, 0
	if m.registerOn(t, a); a.known {
		a.restoring, a.unsure = len(a.held) > 0, true
	}
}

// rewound is what a worker does when Redis has forgotten some of its calls: it restores what it holds of these, and
// asks what Redis knows before it fetches again.
func (a *actor) rewound(m *machine, fell bool) bool {
	if fell {
		if from := m.last[a.id]; !a.restoring || from < a.from {
			a.from = from
		}
		a.unsure = true
		a.restoring = slices.ContainsFunc(a.sortedHeld(), func(c rdb.Claim) bool { return c.Number() > a.from })
		if !a.restoring {
			a.reached = a.from
		}
	}
	return fell
}

// workerAt is a worker that remembers what was acknowledged to it.
func workerAt(store *rdb.Store, id string, reached int64) *rdb.Worker {
	w := store.Worker(id)
	w.Acknowledged(reached)
	return w
}

// requireFell checks that a worker is told once, and only then, that Redis has forgotten some of its calls.
func (m *machine) requireFell(t *rapid.T, w *rdb.Worker, fell bool) {
	known, is := w.FellBack()
	require.Equal(t, fell, is, "Redis has forgotten some")
	if is {
		require.Equal(t, m.last[w.ID], known)
	}
	_, again := w.FellBack()
	require.False(t, again, "it is told once")
}

// clone is a copy that shares nothing that changes.
func (m *model) clone() *model {
	c := *m
	c.jobs = map[string]*modelJob{}
	for id, job := range m.jobs {
		c.jobs[id] = &modelJob{job.queue, job.record, job.trail, slices.Clone(job.crashes)}
	}
	c.inProcess = map[string]map[string][]string{}
	for worker, lists := range m.inProcess {
		c.inProcess[worker] = cloneLists(lists)
	}
	c.queues, c.shelves, c.begun = cloneLists(m.queues), cloneMaps(m.shelves), cloneLists(m.begun)
	c.past, c.running = cloneMaps(m.past), cloneMaps(m.running)
	c.taken, c.counted = cloneMaps(m.taken), cloneMaps(m.counted)
	c.claimed, c.turns, c.outcomes, c.lanes = maps.Clone(m.claimed), maps.Clone(m.turns), maps.Clone(m.outcomes),
		maps.Clone(m.lanes)
	c.workers, c.dead = maps.Clone(m.workers), maps.Clone(m.dead)
	c.serves, c.last = maps.Clone(m.serves), maps.Clone(m.last)
	c.restores, c.hearts, c.stopped = maps.Clone(m.restores), maps.Clone(m.hearts), maps.Clone(m.stopped)
	c.absolved, c.timed, c.once = maps.Clone(m.absolved), maps.Clone(m.timed), maps.Clone(m.once)
	c.acknowledged, c.ended, c.waited = maps.Clone(m.acknowledged), maps.Clone(m.ended), maps.Clone(m.waited)
	c.owed, c.limbo = maps.Clone(m.owed), maps.Clone(m.limbo)
	c.locks, c.freed = maps.Clone(m.locks), maps.Clone(m.freed)
	c.cancelled, c.rules, c.owing = maps.Clone(m.cancelled), maps.Clone(m.rules), maps.Clone(m.owing)
	return &c
}

func cloneLists[M ~map[string]S, S ~[]E, E any](lists M) M {
	c := M{}
	for name, list := range lists {
		c[name] = slices.Clone(list)
	}
	return c
}

func cloneMaps[K comparable, V any](all map[K]map[string]V) map[K]map[string]V {
	c := map[K]map[string]V{}
	for name, one := range all {
		c[name] = maps.Clone(one)
	}
	return c
}
