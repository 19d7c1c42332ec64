package rdb_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// unruled is the room of a queue without a rule: as much as any fetch may take.
const unruled = 500

// modelBegun is when jobs began under the rate that is in force, so that the rate is judged by what began and not by
// how it is kept.
type modelBegun []int64

// room says how many jobs of the queue may begin now, in how many ms there is room where only its rate is in the way
// (else -1), and whether a rule is about it at all.
func (m *model) room(queue string, now int64) (room int, wait float64, ruled bool) {
	if _, all := m.rules[rdb.Everything]; all {
		return 0, -1, true
	}
	rule, ruled := m.rules[queue]
	if !ruled {
		return unruled, -1, false
	}
	left := unruled
	if rule.Filling != "" {
		left = 0
	} else if rule.Concurrent > 0 {
		left = max(0, rule.Concurrent-len(m.counted[queue]))
	}
	if rule.Paused || left == 0 {
		return 0, -1, true
	}
	if rule.Jobs == 0 {
		return left, -1, true
	}
	each := pace(rule)
	free := float64(rule.Burst)*each - max(0, m.owing[queue]-float64(now)) // of the bucket, in ms
	// Redis reckons in ns: of a job of 10 s that is due within the ms of the request, this clock cannot tell.
	if more := math.Floor(free/each + 1e-3); more > 0 {
		return min(left, int(more)), -1, true
	}
	return 0, math.Ceil(each - free), true
}

// pace is how many ms of a rate one job takes.
func pace(rule rdb.Rule) float64 {
	return float64(rule.Per.Milliseconds()) / float64(rule.Jobs)
}

// count notes whether the id counts towards the limit of the queue.
func (m *model) count(queue, id string, counts bool) {
	if m.counted[queue] == nil {
		m.counted[queue] = map[string]bool{}
	}
	if delete(m.counted[queue], id); counts {
		m.counted[queue][id] = true
	}
}

// fill makes what counts agree with the claims, as far as these ids go, and returns how many nobody holds.
func (m *model) fill(queue string, ids []string) (removed int) {
	for _, id := range ids {
		claim, held := m.claimed[id]
		if held = held && claim.queue == queue; !held && m.counted[queue][id] {
			removed++
		}
		m.count(queue, id, held)
	}
	return removed
}

// spend has so many jobs of a queue begin, in this request.
func (m *machine) spend(t *rapid.T, queue string, jobs int) {
	rule := m.rules[queue]
	if jobs == 0 || rule.Jobs == 0 {
		return
	}
	full := func(now int64) float64 { return max(m.owing[queue], float64(now)) + float64(jobs)*pace(rule) }
	m.owing[queue] = m.learnRate(t, queue, full)
	for range jobs {
		m.begun[queue] = append(m.begun[queue], m.after)
	}
	for i, from := range m.begun[queue] {
		most := float64(rule.Burst) + float64(m.after-from+m.after-m.before)/pace(rule)
		require.LessOrEqual(t, float64(len(m.begun[queue])-i), math.Floor(most+1e-6), "jobs of %s that began in %d ms",
			queue, m.after-from)
	}
}

// learnRate reads until when a rate owes, which must be what it says of some moment of this request.
func (m *machine) learnRate(t *rapid.T, queue string, full func(now int64) float64) float64 {
	var at float64
	if stored := text(m.site.cmd(t, "GET", "rate:"+queue)); stored != "" {
		at = asFloat(t, stored)
	}
	least, most := full(m.before), full(m.after+1) // both moments are cut to ms
	require.GreaterOrEqual(t, at, min(least, most)-0.002, "rate:%s", queue)
	require.LessOrEqual(t, at, max(least, most)+1, "rate:%s", queue)
	return at
}

// setRule sends a rule of which the caller has read what there was before. Its token is its own, so it lands once:
// whoever is not answered begins anew with another token.
func (m *machine) setRule(t *rapid.T, queue string, before, after rdb.Rule, anew bool) bool {
	answer, ok := m.request(t, step{
		title: "the rule of " + queue + " becomes " + after.Text() + " where it was " + before.Text(), once: true,
		send: func(store *rdb.Store) (any, error) {
			return store.SetRule(background, queue, before.Text(), after.Text(), anew)
		},
		execute: func() any {
			switch present := m.rules[queue].Text(); present {
			case after.Text():
				return true
			case before.Text():
				m.ruleChanged(t, queue, before, after, anew)
				return true
			}
			return false
		},
	})
	return ok && answer.(bool)
}

func (m *machine) ruleChanged(t *rapid.T, queue string, before, after rdb.Rule, anew bool) {
	if m.rules[queue] = after; after == (rdb.Rule{}) {
		delete(m.rules, queue)
	}
	if anew {
		delete(m.counted, queue)
	}
	if before.Jobs == after.Jobs && before.Per == after.Per && before.Burst == after.Burst {
		return
	}
	owed := m.owing[queue]
	m.owing[queue] = m.learnRate(t, queue, func(now int64) float64 {
		left := owed - float64(now)
		if before.Jobs == 0 || after.Jobs == 0 || left <= 0 {
			return 0
		}
		return float64(now) + min(left/pace(before)*pace(after), float64(after.Burst)*pace(after))
	})
	delete(m.begun, queue)
}

// readRule reads the rule of a queue as those do who change it.
func (m *machine) readRule(t *rapid.T, queue string) rdb.Rule {
	stored, err := rdb.NewStore(m.site.driver, m.site.namespace).RuleOf(background, queue)
	require.NoError(t, err)
	rule, err := rdb.ParseRule(stored)
	require.NoError(t, err)
	require.Equal(t, m.rules[queue], rule, "the rule of %s", queue)
	return rule
}

// limitSome has somebody change the rule of a queue: its limit or its rate, whether it is paused, or all of it.
func (m *machine) limitSome(t *rapid.T) {
	queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
	before := m.readRule(t, queue)
	after := before
	switch rapid.SampledFrom([]string{"limit", "rate", "limit", "pause", "reset"}).Draw(t, "change") {
	case "limit":
		after.Operator, after.Concurrent = true, rapid.SampledFrom([]int{2, 1, 3, 0}).Draw(t, "concurrent")
	case "rate":
		per := time.Duration(rapid.SampledFrom([]int{10, 20, 0}).Draw(t, "per")) * time.Second
		after.Operator, after.Jobs, after.Per, after.Burst = true, 0, 0, 0
		if per > 0 {
			after.Jobs, after.Per, after.Burst = 1, per, rapid.IntRange(1, 3).Draw(t, "burst")
		}
	case "pause":
		after.Paused = !after.Paused
	case "reset":
		after.Operator, after.Limit = false, rdb.Limit{}
	}
	m.changeRule(t, queue, before, after)
}

// changeRule is what a change of a rule comes to: a limit on what runs is in force once that is counted.
func (m *machine) changeRule(t *rapid.T, queue string, before, after rdb.Rule) {
	if after.Concurrent == 0 {
		after.Filling = ""
	}
	anew := after.Concurrent > 0 && before.Concurrent == 0
	if anew {
		after.Filling = m.name("token")
	}
	if done := m.setRule(t, queue, before, after, anew); done && after.Filling != "" &&
		(m.calm || rapid.IntRange(0, 3).Draw(t, "goes on") < 3) {
		m.fillOn(t, queue)
	}
}

// fillSome is what the janitor does with a rule that waits to be in force.
func (m *machine) fillSome(t *rapid.T) {
	queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
	if m.rules[queue].Filling == "" {
		t.Skip("nothing is being counted")
	}
	m.fillOn(t, queue)
}

func (m *machine) fillOn(t *rapid.T, queue string) {
	token := m.readRule(t, queue).Filling
	var ids []string
	for id, claim := range m.claimed {
		if claim.queue == queue {
			ids = append(ids, id)
		}
	}
	if slices.Sort(ids); len(ids) > 0 {
		page := m.site.cmd(t, "HSCAN", "claimed", "0", "COUNT", rdb.MaxBatch)
		if _, ok := m.request(t, step{
			title:   "what runs of " + queue + " is counted: " + strings.Join(ids, " "),
			send:    func(store *rdb.Store) (any, error) { return nil, m.seen(store, page).Fill(background, queue) },
			execute: func() any { m.model.fill(queue, ids); return nil },
		}); !ok {
			return
		}
	}
	filling := m.readRule(t, queue)
	if filled := filling; token != "" && filling.Filling == token {
		filled.Filling = ""
		m.setRule(t, queue, filling, filled, false)
	}
}

// recountSome is what the janitor does with what counts: it takes out what nobody holds.
func (m *machine) recountSome(t *rapid.T) {
	queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
	ids := m.site.set(t, "running:"+queue)
	if len(ids) == 0 {
		t.Skip("nothing counts")
	}
	page := m.site.cmd(t, "SSCAN", "running:"+queue, "0", "COUNT", rdb.MaxBatch)
	m.request(t, step{
		title: "what counts of " + queue + " is compared: " + strings.Join(ids, " "),
		send: func(store *rdb.Store) (any, error) {
			removed, err := m.seen(store, page).Recount(background, queue)
			return removed[queue], err
		},
		execute: func() any { return m.model.fill(queue, ids) },
	})
}

// holdAll pauses all queues, or lets all go on and calls the workers to them.
func (m *machine) holdAll(t *rapid.T) {
	before := m.readRule(t, rdb.Everything)
	if !before.Paused {
		m.setRule(t, rdb.Everything, before, rdb.Rule{Paused: true}, false)
		return
	}
	if m.setRule(t, rdb.Everything, before, rdb.Rule{}, false) {
		m.wakeAll(t, modelQueues)
	}
}

func (m *machine) wakeAll(t *rapid.T, queues []string) bool {
	_, ok := m.request(t, step{
		title: "workers are called to " + strings.Join(queues, ","),
		send:  func(store *rdb.Store) (any, error) { return nil, store.Wake(background, queues) },
		execute: func() any {
			for _, queue := range queues {
				delete(m.owed, queue)
			}
			return nil
		},
	})
	return ok
}

// scanned is a Driver that answers a walk with what was read of it before, so that only the script may be late.
type scanned struct {
	redisconn.Driver
	page any
}

func (s *scanned) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if strings.HasSuffix(calls[0].Command, "SCAN") {
		return []redisconn.Reply{{Value: s.page}}, nil
	}
	return s.Driver.Pipeline(ctx, calls...)
}

func (m *machine) seen(store *rdb.Store, page any) *rdb.Store {
	return rdb.NewStore(&scanned{store.Driver(), page}, m.site.namespace)
}

// checkLimits: what counts is exactly what is held, of every queue whose limit on what runs is in force.
func (m *machine) checkLimits(t *rapid.T, state redisState) {
	for _, queue := range modelQueues {
		rule, err := rdb.ParseRule(state.maps["limits"][queue])
		require.NoError(t, err)
		if rule.Concurrent == 0 || rule.Filling != "" {
			continue
		}
		held := map[string]string{}
		for id, claim := range state.maps["claimed"] {
			if strings.HasSuffix(claim, " "+queue) {
				held[id] = ""
			}
		}
		require.Equal(t, held, notNil(state.maps["running:"+queue]), "what counts of %s is what is held", queue)
	}
}

// requireWithin: a fetch that took jobs of a queue leaves no more held than its limit allows, whatever was held before.
func (m *machine) requireWithin(t *rapid.T, jobs []rdb.FetchedJob) {
	for _, job := range jobs {
		if most := m.rules[job.Queue].Concurrent; most > 0 {
			require.LessOrEqual(t, m.site.cmd(t, "SCARD", "running:"+job.Queue), int64(most),
				"held of %s after a fetch", job.Queue)
		}
	}
}

// free ends what would keep the last jobs from being run at once: pauses, counts that nobody finished, and rates.
// Limits on what runs stay: with them, too, everything must come to its end.
func (m *machine) free(t *rapid.T) {
	if m.readRule(t, rdb.Everything).Paused {
		m.holdAll(t)
	}
	for _, queue := range modelQueues {
		before := m.readRule(t, queue)
		after := before
		after.Paused, after.Jobs, after.Per, after.Burst = false, 0, 0, 0
		if m.changeRule(t, queue, before, after); m.rules[queue].Filling != "" {
			m.fillOn(t, queue)
		}
	}
}

// fillUp has as many jobs of each queue begin as its limit allows, and no more, after all the others have ended.
func (m *machine) fillUp(t *rapid.T, hand *actor) {
	for _, queue := range modelQueues {
		before := m.readRule(t, queue)
		after := before
		after.Concurrent = 2
		m.changeRule(t, queue, before, after)
		jobs := make([]rdb.NewJob, 4)
		for i := range jobs {
			jobs[i] = rdb.NewJob{Queue: queue, ID: m.name("last"), Place: rdb.Back}
			jobs[i].Record = newRecord(jobs[i], "")
		}
		e := m.enqueuers[0]
		e.number, e.jobs = e.number+1, nil
		m.request(t, m.enqueuing(t, e.lane, e.number, jobs))
		m.fetchOn(t, hand, 100, true, []rdb.Share{{Queue: queue}})
		require.Len(t, hand.held, 2, "there is room for exactly as many of %s as its limit says", queue)
		m.check(t)
		m.settleOn(t, hand, m.endAll(t, hand))
		m.finishOn(t, hand)
	}
}

// ageRates moves the times until which rates owe into the past, on a real Redis.
func (m *machine) ageRates(t *rapid.T, ms int64) {
	now := m.site.now(t).UnixMilli()
	for _, queue := range modelQueues {
		stored := text(m.site.cmd(t, "GET", "rate:"+queue))
		if stored == "" {
			continue
		}
		if until := asFloat(t, stored) - float64(ms); until > float64(now) {
			m.site.cmd(t, "SET", "rate:"+queue, strconv.FormatFloat(until, 'f', 3, 64), "PX",
				int64(math.Ceil(until-float64(now))))
		} else {
			m.site.cmd(t, "UNLINK", "rate:"+queue)
		}
	}
}

func asFloat(t require.TestingT, number string) float64 {
	f, err := strconv.ParseFloat(number, 64)
	require.NoError(t, err)
	return f
}

// dropLapsed takes out of the state the rates that owe nothing any more, which may stand there for some ms. Of the
// others it leaves as much as the numbers of the model can have.
func dropLapsed(t *rapid.T, state redisState, now int64) {
	for _, queue := range modelQueues {
		for stored := range state.maps["rate:"+queue] {
			delete(state.maps, "rate:"+queue)
			if until := asFloat(t, stored); until > float64(now) {
				state.maps["rate:"+queue] = map[string]string{strconv.FormatFloat(until, 'f', 3, 64): ""}
			}
		}
	}
}
