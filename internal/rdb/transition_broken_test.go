package rdb_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A script that finds a key of another type than it needs stops there, and Redis does not take back what it has
// written, no more than where it refuses a command. So this test sends each transition while one of the keys that it
// uses has a type that no script knows, puts the true key back, and sends it again. Redis must then hold what two sends
// leave that found all keys sound.
func TestAKeyOfAWrongTypeLosesNothing(t *testing.T) {
	t.Parallel()
	for _, tr := range redistest.Some(transitions()) {
		if tr.script == "repair/rename_broken" { // it works on such keys
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Embedded(t)
			s := newSite(t, server.DSN(), server.Embedded())
			first, used := s.sound(t, tr, "first")
			second, _ := s.sound(t, tr, "second")
			for i, key := range used {
				t.Run(key, func(t *testing.T) { s.fresh(strconv.Itoa(i)).broken(t, tr, key, first, second) })
			}
		})
	}
}

// spared are the scripts that do without some keys, as "script key". They answer without an error, and leave something
// else than they would with a sound key, which loses no job.
var spared = map[string]*regexp.Regexp{
	"the answer says which jobs are not stored":         regexp.MustCompile(`^job/enqueue\w* queue:`),
	"a fetch serves other queues, and names the key":    regexp.MustCompile(`^job/fetch `),
	"the member waits with its flow, which stays busy":  regexp.MustCompile(`^(flow/\w+|job/(end|complete)) queue:`),
	"a feed is not counted, or has the other form":      regexp.MustCompile(`^thoonk/\w+ feed\.(counts|publishes):`),
	"the note of a stop or a death, which is told once": regexp.MustCompile(`^worker/\w+ (stopped|deaths|deadlines)`),
	"the layout, which each worker notes anew":          regexp.MustCompile(`^worker/register layout$`),
	"the list of a queue that the worker leaves":        regexp.MustCompile(`^worker/serve worker:w1:inprocess:`),
	"the last number of a dead worker, noted later":     regexp.MustCompile(`^job/release worker:w1:info$`),
	"details without an outcome, which lapse":           regexp.MustCompile(`^repair/remove_expired (ended|details):`),
	"the name of a queue that is broken stays":          regexp.MustCompile(`^repair/agree_indexes queue:`),
}

// sound sends a transition that finds all keys sound, and returns which of its keys the scripts used.
func (s *site) sound(t *testing.T, tr transition, namespace string) (run cleanRun, used []string) {
	t.Helper()
	on := s.fresh(namespace)
	tr.prepare(t, on)
	var mutex sync.Mutex
	given, touched := map[string]bool{}, map[string]bool{}
	s.clock.Hook(func(command string, args []string) {
		mutex.Lock()
		defer mutex.Unlock()
		if command == "EVALSHA" || command == "EVAL" {
			count, _ := strconv.Atoi(args[1])
			for _, key := range args[2 : 2+count] {
				given[key] = true
			}
		} else if len(args) > 0 {
			touched[args[0]] = true
		}
	})
	answer, err := tr.send(on, on.store)
	s.clock.Hook(nil)
	require.NoError(t, err)
	run.answers = []any{answer}
	if !tr.once {
		again, err := tr.send(on, on.store)
		require.NoError(t, err)
		run.answers = append(run.answers, again)
	}
	run.state = whatIsThere(t, on)
	for _, key := range slices.Sorted(maps.Keys(touched)) {
		if given[key] {
			used = append(used, strings.TrimPrefix(key, on.key("")))
		}
	}
	return run, used
}

// broken sends a transition while one key has a wrong type, and again with the true key.
func (s *site) broken(t *testing.T, tr transition, key string, first, second cleanRun) {
	tr.prepare(t, s)
	before, aside := s.dump(t), "sound:"+s.key(key)
	was := s.exists(t, key)
	if was {
		s.cmd(t, "RENAME", key, aside)
	}
	s.cmd(t, "XADD", key, "*", "no", "script uses streams")
	_, refused := tr.send(s, s.store)
	if text(s.cmd(t, "TYPE", key)) == "stream" { // otherwise the script has removed the key, or written it anew
		s.cmd(t, "UNLINK", key)
		if was {
			_, err := redisconn.Do(background, s.driver,
				redisconn.Call{Command: "RENAME", Args: []any{aside, s.key(key)}})
			require.NoError(t, err)
		}
	}
	spares := false
	for _, these := range spared {
		spares = spares || refused == nil && these.MatchString(tr.script+" "+key)
	}
	if refused != nil || !tr.once {
		answer, err := tr.send(s, s.store)
		require.NoError(t, err, "after %v", refused)
		if !tr.untold() && !spares {
			assert.Contains(t, append(slices.Clone(first.answers), second.answers...), answer, "after %v", refused)
		}
	}
	assertPlaced(t, before, s.dump(t), first, refused)
	if !spares {
		assertSame(t, first, second, whatIsThere(t, s), refused)
	}
}

// places are all keys that hold ids of jobs, but for the shelves.
var places = regexp.MustCompile(`^(queue:.*|worker:[^:]+:inprocess:.*|turns|scheduled|retry|morgue|stalled)$`)

// places counts in how many places each job is.
func (state redisState) places() map[string]int {
	counted := map[string]int{}
	for key, list := range state.lists {
		for _, element := range list {
			if places.MatchString(key) {
				counted[element[strings.LastIndex(element, ":")+1:]]++
			}
		}
	}
	for key, content := range state.maps {
		for id := range content {
			if places.MatchString(key) {
				counted[id]++
			}
		}
	}
	return counted
}

// assertPlaced requires that the records are there which stay otherwise, and that each job which was in one place is in
// one place still.
func assertPlaced(t *testing.T, before, after redisState, first cleanRun, refused error) {
	t.Helper()
	was, is := before.places(), after.places()
	for id := range before.maps["jobs"] {
		if strings.Contains("\n"+first.state["jobs"], "\n"+id+" = ") {
			assert.Contains(t, after.maps["jobs"], id, "after %v", refused)
		}
	}
	for id := range after.maps["jobs"] {
		if _, known := before.maps["jobs"][id]; !known || was[id] == 1 {
			assert.Equal(t, 1, is[id], "places of %s after %v", id, refused)
		}
	}
}
