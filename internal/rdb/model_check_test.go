package rdb_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/redisconn"
)

// known are all keys that there may be.
var known = regexp.MustCompile(
	`^(jobs|trail|queues|queue:.+|ready|wake:.+|scheduled|retry|names|morgue|stalled|outcomes|outcomes:until|workers|dead|` +
		`worker:[^:]+|worker:[^:]+:(queues|info|running)|worker:[^:]+:inprocess:.+|claimed|lease|deputy|deadlines|served|layout|crashes|deaths|lanes|epoch|waited|` +
		`cancelled|unique|(ended|details):.+|limits|stopped|stopped:info|running:.+|taken:.+|rate:.+)$`)

// redisState is everything that is in Redis, keys without their prefix: lists front first, scores and hash values as
// texts, sets with empty values.
type redisState struct {
	lists map[string][]string
	maps  map[string]map[string]string
}

var commands = map[string][]any{
	"list": {"LRANGE", 0, -1}, "hash": {"HGETALL"}, "set": {"SMEMBERS"}, "zset": {"ZRANGE", 0, -1, "WITHSCORES"},
	"string": {"GET"},
}

// dump reads the whole namespace.
func (s *site) dump(t require.TestingT) redisState {
	prefix := s.key("")
	replies, err := s.driver.Pipeline(background, redisconn.Call{Command: "KEYS", Args: []any{prefix + "*"}})
	require.NoError(t, err)
	keys := texts(t, replies[0].Value)
	state := redisState{lists: map[string][]string{}, maps: map[string]map[string]string{}}
	if len(keys) == 0 {
		return state
	}
	types, reads := make([]redisconn.Call, len(keys)), make([]redisconn.Call, len(keys))
	for i, key := range keys {
		types[i] = redisconn.Call{Command: "TYPE", Args: []any{key}}
	}
	typed, err := s.driver.Pipeline(background, types...)
	require.NoError(t, err)
	for i, key := range keys {
		command := commands[text(typed[i].Value)]
		require.NotNil(t, command, "key %s of type %v", key, typed[i].Value)
		reads[i] = redisconn.Call{Command: command[0].(string), Args: append([]any{key}, command[1:]...)}
	}
	values, err := s.driver.Pipeline(background, reads...)
	require.NoError(t, err)
	for i, key := range keys {
		require.NoError(t, values[i].Err)
		name := strings.TrimPrefix(key, prefix)
		switch text(typed[i].Value) {
		case "list":
			list := texts(t, values[i].Value)
			slices.Reverse(list)
			state.lists[name] = list
		case "set":
			state.maps[name] = members(texts(t, values[i].Value)...)
		case "string":
			state.maps[name] = members(text(values[i].Value))
		case "zset":
			scores := pairs(texts(t, values[i].Value))
			for member, score := range scores {
				scores[member] = strconv.FormatInt(asInt(t, score), 10)
			}
			state.maps[name] = scores
		default:
			state.maps[name] = pairs(texts(t, values[i].Value))
		}
	}
	return state
}

func members(names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		m[name] = ""
	}
	return m
}

// check reads all keys, compares them with the model, and checks the invariants on what is in Redis alone.
func (m *machine) check(t *rapid.T) {
	if m.tooSlow() {
		return
	}
	state := m.site.dump(t)
	m.checkTokens(t, state)
	m.checkPlaces(t, state)
	m.checkLimits(t, state)
	m.checkLocks(t, state)
	m.requireFlagged(t, state)
	for name := range state.lists {
		require.Regexp(t, known, name, "a key that the contract does not list")
	}
	for name := range state.maps {
		require.Regexp(t, known, name, "a key that the contract does not list")
	}
	for id := range m.acknowledged {
		_, lives := state.maps["jobs"][id]
		require.True(t, lives || m.ended[id], "job %s was acknowledged, has not ended and is nowhere", id)
	}
	m.after = m.site.now(t).UnixMilli()
	want, got := m.expected(), plain(state)
	dropLapsed(t, got, m.after)
	for worker, noted := range m.taken {
		if _, there := got.maps["taken:"+worker]; there { // it is kept for an hour
			want.maps["taken:"+worker] = noted
		}
	}
	require.Equal(t, want.lists, got.lists)
	require.Equal(t, want.maps, got.maps)
}

// checkTokens: a queue with jobs that may begin has a token, or somebody owes one.
func (m *machine) checkTokens(t *rapid.T, state redisState) {
	for _, queue := range modelQueues {
		tokens, jobs := state.lists["wake:"+queue], state.lists["queue:"+queue]
		require.LessOrEqual(t, len(tokens), 2, "tokens of %s", queue)
		if len(tokens) > 0 || len(jobs) == 0 {
			delete(m.owed, queue)
			continue
		}
		if room, _, _ := m.room(queue, m.after); room == 0 {
			m.owed[queue] = true // by whoever makes room
			continue
		}
		require.True(t, m.owed[queue], "queue %s has %d jobs, no token, and nobody owes one", queue, len(jobs))
	}
}

// checkPlaces: every job is in exactly one place, and every index agrees with the places.
func (m *machine) checkPlaces(t *rapid.T, state redisState) {
	places := map[string][]string{}
	claims, waiting := map[string]string{}, map[string]string{}
	ready := map[string]string{}
	for name, list := range state.lists {
		for _, item := range list {
			if _, queue, held := strings.Cut(name, ":inprocess:"); held {
				require.Empty(t, claims[idOf(item)], "two claims of one job")
				claims[idOf(item)] = strings.TrimPrefix(name[:strings.Index(name, ":inprocess:")], "worker:") + " " +
					item + " " + queue
				item = idOf(item)
			}
			if !strings.HasPrefix(name, "wake:") {
				places[item] = append(places[item], name)
			}
		}
		if queue, is := strings.CutPrefix(name, "queue:"); is {
			ready[queue] = ""
		}
	}
	for _, shelf := range []string{"scheduled", "retry", "morgue", "stalled"} {
		for id := range state.maps[shelf] {
			places[id] = append(places[id], shelf)
			waiting[id] = ""
		}
	}
	for id := range state.maps["jobs"] {
		if m.limbo[id] {
			require.Empty(t, places[id], "job %s lost its element", id)
			continue
		}
		require.Len(t, places[id], 1, "job %s is not in exactly one place", id)
	}
	require.Equal(t, ready, notNil(state.maps["ready"]), "ready names every queue that is not empty")
	require.ElementsMatch(t, slices.Collect(maps.Keys(waiting)), slices.Collect(maps.Keys(state.maps["names"])),
		"names")
	for id, claim := range state.maps["claimed"] {
		if parts := strings.Split(claim, " "); !m.limbo[id] {
			require.Equal(t, parts[0]+" "+parts[1]+":"+id+" "+parts[3], claims[id], "claimed agrees with the lists")
		}
		delete(claims, id)
	}
	require.Empty(t, claims, "elements that claimed does not know")
	for _, of := range []string{"trail", "crashes", "claimed", "names"} {
		for id := range state.maps[of] {
			require.Contains(t, state.maps["jobs"], id, of)
		}
	}
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
