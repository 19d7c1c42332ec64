package rdb_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// keysState is what is in Redis of jobs with keys, by key.
type keysState struct {
	holding, parked map[string][]string
	most            map[string]int // -1 is not limited
	paced           map[string]bool
}

// check looks whether what is in Redis agrees with itself, and with the rules.
func (r *keysRun) check() {
	turns, keyed := r.scores(r.t, "turns"), r.hash(r.t, "keyed")
	claimed, shelves := r.hash(r.t, "claimed"), map[string]bool{}
	for _, shelf := range []string{"scheduled", "retry", "morgue"} {
		for id := range r.scores(r.t, shelf) {
			shelves[id] = true
		}
	}
	list := map[string]bool{}
	for _, id := range r.list(r.t, "queue:q") {
		list[id] = true
	}
	s := r.stateOf(turns, keyed, claimed)
	var wrong []string
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	drawable := 0
	for id, score := range turns {
		if at, _ := strconv.ParseFloat(score, 64); at < 1<<52 {
			drawable++
		} else if !slices.Contains(s.parked[r.keyOf(keyed[id])], id) {
			fail("%s stands in the parked lane and is not found by its key", id)
		}
		if claimed[id] != "" {
			fail("%s is claimed and waits", id)
		}
	}
	for key, ids := range s.parked {
		for _, id := range ids {
			if at, _ := strconv.ParseFloat(turns[id], 64); at < 1<<52 {
				fail("%s is parked, and stands at %s", id, turns[id])
			}
		}
		if room := s.most[key] < 0 || len(s.holding[key]) < s.most[key]; room && len(ids) > 0 && !s.paced[key] {
			fail("key %q has %d parked, %d of %d places taken, and waits for no rate", key, len(ids),
				len(s.holding[key]), s.most[key])
		}
	}
	for key, ids := range s.holding {
		for _, id := range ids {
			at, waits := turns[id]
			score, _ := strconv.ParseFloat(at, 64)
			if waits && score >= 1<<52 || claimed[id] == "" && !waits && !shelves[id] && !list[id] {
				fail("%s holds a place of %q, and is nowhere where it may", id, key)
			}
		}
		if most := s.most[key]; r.before != nil && most >= 0 && len(ids) > max(most, r.before[key]) {
			fail("%d jobs hold places of %q, of which there are %d", len(ids), key, most)
		}
	}
	counted := r.hash(r.t, "keyrules")["\x00"] == "done"
	for id := range claimed {
		if key := r.keyOf(keyed[id]); key != "" && counted && !slices.Contains(s.holding[key], id) {
			fail("%s is claimed and holds no place of %q", id, key)
		}
	}
	for id := range r.hash(r.t, "jobs") {
		_, waits := turns[id]
		if claimed[id] == "" && !waits && !shelves[id] && !list[id] {
			fail("%s is nowhere", id)
		}
	}
	ready := len(r.set(r.t, "ready")) > 0
	if wants := drawable+len(list) > 0 || len(r.scores(r.t, "waking")) > 0 && r.anyParked(s); wants && !ready {
		fail("there is something to fetch, and the queue is not ready")
	}
	require.Empty(r.t, wrong, "%s", r.story())
	r.before = map[string]int{}
	for key, ids := range s.holding {
		r.before[key] = len(ids)
	}
}

func (r *keysRun) anyParked(s keysState) bool {
	for key, ids := range s.parked {
		if len(ids) > 0 && s.paced[key] {
			return true
		}
	}
	return false
}

func (r *keysRun) keyOf(keyed string) string {
	_, key, _ := strings.Cut(keyed, " ")
	return key
}

func (r *keysRun) stateOf(turns, keyed, claimed map[string]string) keysState {
	s := keysState{holding: map[string][]string{}, parked: map[string][]string{}, most: map[string]int{},
		paced: map[string]bool{}}
	rules := r.hash(r.t, "keyrules")
	for _, key := range runKeys {
		s.holding[key], s.parked[key] = r.places(r.t, key)
		all, err := rdb.ParseKeyRule(rules["q"])
		require.NoError(r.t, err)
		rule := all
		if own := rules["q\x00"+key]; own != "" {
			rule, err = rdb.ParseKeyRule(own)
			require.NoError(r.t, err)
		}
		s.most[key] = -1
		if rule.Concurrent > 0 || rule.Stopped {
			s.most[key] = rule.Concurrent
		}
		if all.Ordered && s.most[key] != 0 {
			s.most[key] = 1
		}
	}
	for member := range r.scores(r.t, "waking") {
		s.paced[member[strings.Index(member, "\x00")+1:]] = true
	}
	return s
}

// checkRate: in any time d no more began of a key than its burst and d*jobs/per.
func (r *keysRun) checkRate() {
	for key, times := range r.begins {
		slices.SortFunc(times, time.Time.Compare)
		for i := range times {
			for j := i; j < len(times); j++ {
				// one us for the digits that a fetch tells
				d := times[j].Sub(times[i]) + time.Microsecond
				most := float64(r.rule.Burst) + float64(d)*float64(r.rule.Jobs)/float64(r.rule.Per)
				require.LessOrEqual(r.t, float64(j-i+1), most, "key %q began %d in %s", key, j-i+1, d)
			}
		}
	}
}
