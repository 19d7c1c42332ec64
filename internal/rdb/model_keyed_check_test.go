package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lines are what Redis has of the jobs of one key: those that may be drawn and have a place, in their order; those that
// are parked; and those that may be drawn and have none.
type keyedLine struct{ seated, parked, loose []string }

// check reads all keys, and compares them with the model.
func (m *keyedMachine) check(t *rapid.T) {
	state := m.site.dump(t)
	m.seen = state
	m.checkPlacesOfJobs(t, state)
	for number, queue := range m.numbers(t, state) {
		m.checkQueue(t, state, number, m.queues[queue])
	}
	m.checkHolders(t, state)
	for id := range m.acknowledged {
		require.True(t, m.jobs[id] != nil || m.ended[id], "%s was acknowledged, has not ended and is nowhere", id)
	}
}

// checkPlacesOfJobs: each job is where the model has it, and nowhere else.
func (m *keyedMachine) checkPlacesOfJobs(t *rapid.T, state redisState) {
	records, keyed, claimed, names := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	shelves, held := map[string]map[string]string{}, map[string][]string{}
	waiting, flagged := map[string]string{}, map[string]string{}
	for id, j := range m.jobs {
		records[id] = j.record
		if j.key != "" {
			keyed[id] = strconv.Itoa(j.weight) + " " + j.key
		}
		if j.flagged {
			flagged[id] = ""
		}
		switch {
		case j.worker != "":
			claimed[id] = j.worker + " " + j.element + " " + j.queue
			list := "worker:" + j.worker + ":inprocess:" + j.queue
			held[list] = append(held[list], j.element)
		case j.shelf != "":
			of := shelves[string(j.shelf)]
			if of == nil {
				of = map[string]string{}
				shelves[string(j.shelf)] = of
			}
			of[id], names[id] = strconv.FormatInt(int64(j.due), 10), j.queue
		case !slices.Contains(m.queues[j.queue].list, id):
			waiting[id] = ""
		}
	}
	state = plain(state)
	require.Equal(t, records, notNil(state.maps["jobs"]), "jobs")
	require.Equal(t, keyed, notNil(state.maps["keyed"]), "keyed")
	require.Equal(t, claimed, notNil(state.maps["claimed"]), "claimed")
	require.Equal(t, names, notNil(state.maps["names"]), "names")
	require.Equal(t, flagged, notNil(state.maps["cancelled"]), "cancelled")
	for _, shelf := range []string{"scheduled", "retry", "morgue", "stalled"} {
		require.Equal(t, notNil(shelves[shelf]), notNil(state.maps[shelf]), shelf)
	}
	turns := maps.Clone(notNil(state.maps["turns"]))
	for id := range turns {
		turns[id] = ""
	}
	require.Equal(t, waiting, turns, "who waits by turns")
	for list, elements := range state.lists {
		if _, queue, is := strings.Cut(list, ":inprocess:"); is {
			require.ElementsMatch(t, held[list], elements, "held of %s", queue)
			delete(held, list)
		}
	}
	require.Empty(t, held, "held, and in no list")
}

// numbers are those of the queues that have turns.
func (m *keyedMachine) numbers(t *rapid.T, state redisState) map[int64]string {
	numbers := map[int64]string{}
	for queue, number := range state.maps["turning"] {
		numbers[asInt(t, number)] = queue
	}
	for id := range state.maps["turns"] {
		_, has := state.maps["turning"][m.jobs[id].queue]
		require.True(t, has, "%s waits by turns in a queue that has none", id)
	}
	return numbers
}

// checkQueue compares the lines of a queue.
func (m *keyedMachine) checkQueue(t *rapid.T, state redisState, number int64, q *keyedQueue) {
	lines := m.linesOf(t, state, number, q)
	list := append([]string{}, state.lists["queue:"+q.name]...)
	drawable := len(list)
	require.Equal(t, append([]string{}, q.list...), list, "the list of %s", q.name)
	for _, key := range keyedKeys {
		line, in := q.lines[key], lines[key]
		m.learnPlaces(t, q, key, in)
		have := slices.Concat(in.seated, in.parked, in.loose)
		if q.mixed[key] = q.mixed[key] && len(line) > 0; q.mixed[key] {
			line = slices.SortedFunc(slices.Values(line), func(a, b string) int {
				return slices.Index(have, a) - slices.Index(have, b)
			})
		}
		require.Equal(t, m.ofNoOrder(line), m.ofNoOrder(have), "the line of %q in %s: %v", key, q.name, in)
		q.lines[key] = have
		drawable += len(in.seated) + len(in.loose)
		if len(in.parked) == 0 {
			delete(q.ungranted, key)
		} else if !q.ungranted[key] {
			require.GreaterOrEqual(t, m.over(q.name, key), 0,
				"%v of %q are parked, and a place is free", in.parked, key)
		}
	}
	_, ready := state.maps["ready"][q.name]
	require.True(t, ready || drawable == 0, "%d may be drawn from %s, which is not ready", drawable, q.name)
}

// ofNoOrder are ids in their order, where those that stand side by side and have none are one.
func (m *keyedModel) ofNoOrder(ids []string) [][]string {
	groups := [][]string{}
	for i, id := range ids {
		if i > 0 && m.jobs[id].aside && m.jobs[ids[i-1]].aside {
			groups[len(groups)-1] = append(groups[len(groups)-1], id)
			slices.Sort(groups[len(groups)-1])
			continue
		}
		groups = append(groups, []string{id})
	}
	return groups
}

// learnPlaces learns which of those that wait have got a place, or lost it to a rule.
func (m *keyedMachine) learnPlaces(t *rapid.T, q *keyedQueue, key string, in keyedLine) {
	for i, id := range q.lines[key] {
		j, has := m.jobs[id], slices.Contains(in.seated, id)
		switch {
		case has && !j.holds:
			require.Negative(t, m.over(q.name, key), "%s of %q got a place, and none was free", id, key)
			inTurn := j.aside || q.mixed[key] || i == m.holdersIn(q.lines[key])
			require.True(t, inTurn, "%s of %q got a place before others", id, key)
			j.holds = true
		case !has && j.holds:
			require.Positive(t, m.over(q.name, key), "%s of %q has lost its place, and there are enough", id, key)
			j.holds = false
			for _, other := range q.lines[key][:i+1] { // they had a place too, and may keep it
				m.jobs[other].aside = true
			}
			for _, other := range q.lines[key][i:] {
				m.jobs[other].aside = m.jobs[other].aside || m.jobs[other].holds
			}
			j.aside = true
		}
	}
}

// linesOf reads the lines of a queue.
func (m *keyedMachine) linesOf(t *rapid.T, state redisState, number int64, q *keyedQueue) map[string]keyedLine {
	const width = int64(1) << 42
	lines, scores := map[string]keyedLine{}, map[string]int64{}
	prefix := func(key string) string { return fmt.Sprintf("%04d\x00%s\x00", number, key) }
	for id, score := range state.maps["turns"] {
		if m.jobs[id].queue == q.name {
			scores[id] = asInt(t, score)
		}
	}
	ids := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		if scores[a] != scores[b] {
			return int(max(-1, min(1, scores[a]-scores[b])))
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids {
		key := m.jobs[id].key
		line := lines[key]
		_, holds := state.maps["holding"][prefix(key)+id]
		switch at := scores[id] / width; {
		case at == number+1024:
			require.False(t, holds, "%s is parked, and has a place", id)
			line.parked = append(line.parked, id)
		default:
			require.Equal(t, number, at, "%s waits in the line of another queue", id)
			if holds {
				line.seated = append(line.seated, id)
			} else {
				line.loose = append(line.loose, id)
			}
		}
		lines[key] = line
	}
	for key, line := range lines {
		var found []string
		for _, member := range slices.Sorted(maps.Keys(state.maps["parked"])) {
			if rest, of := strings.CutPrefix(member, prefix(key)); of {
				found = append(found, rest[strings.IndexByte(rest, 0)+1:])
			}
		}
		require.ElementsMatch(t, line.parked, found, "the parked jobs of %q", key)
		line.parked = found
		lines[key] = line
	}
	return lines
}

// checkHolders: exactly those have a place of whom the model says so.
func (m *keyedMachine) checkHolders(t *rapid.T, state redisState) {
	want, got := []string{}, []string{}
	for id, j := range m.jobs {
		if j.holds {
			want = append(want, j.key+" "+id)
		}
	}
	for member := range state.maps["holding"] {
		parts := strings.SplitN(member, "\x00", 3)
		got = append(got, parts[1]+" "+parts[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, "who has places of keys")
}
