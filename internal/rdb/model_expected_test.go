package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// expected is the state that the model says Redis has, but for what plain removes.
func (m *machine) expected() redisState {
	state := redisState{lists: map[string][]string{}, maps: map[string]map[string]string{}}
	put := func(key string, content map[string]string) {
		if len(content) > 0 {
			state.maps[key] = content
		}
	}
	ready, names := map[string]string{}, map[string]string{}
	for queue, ids := range m.queues {
		if len(ids) > 0 {
			state.lists["queue:"+queue] = slices.Clone(ids)
			ready[queue] = ""
		}
	}
	for shelf, waiting := range m.shelves {
		scores := map[string]string{}
		for id, due := range waiting {
			scores[id] = strconv.FormatInt(due, 10)
			names[id] = m.jobs[id].queue
		}
		put(string(shelf), scores)
	}
	put("ready", ready)
	put("names", names)
	if m.epoch != "" {
		put("epoch", members(m.epoch))
		put("layout", members("8 3"))
	}
	m.expectJobs(put)
	m.expectRules(put)
	m.expectWorkers(put)
	for worker, lists := range m.inProcess {
		for queue, elements := range lists {
			if len(elements) > 0 {
				state.lists["worker:"+worker+":inprocess:"+queue] = slices.Clone(elements)
			}
		}
	}
	return state
}

func (m *machine) expectJobs(put func(string, map[string]string)) {
	jobs, trail, crashes, claimed := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for id, job := range m.jobs {
		jobs[id] = job.record
		if job.trail != "" {
			trail[id] = job.trail
		}
		if len(job.crashes) > 0 {
			crashes[id] = strings.Join(job.crashes, " ")
		}
	}
	for id, c := range m.claimed {
		claimed[id] = c.worker + " " + c.element + " " + c.queue
	}
	outcomes, until := map[string]string{}, map[string]string{}
	for id, o := range m.outcomes {
		outcomes[id], until[id] = o.text, strconv.FormatInt(o.until, 10)
	}
	lanes := map[string]string{}
	for lane, last := range m.lanes {
		lanes[lane] = fmt.Sprintf("%d %d", last.number, last.used)
	}
	put("waited", members(slices.Collect(maps.Keys(m.waited))...))
	put("jobs", jobs)
	put("trail", trail)
	put("crashes", crashes)
	put("claimed", claimed)
	put("outcomes", outcomes)
	put("outcomes:until", until)
	m.expectPast(put)
	put("lanes", lanes)
}

func (m *machine) expectRules(put func(string, map[string]string)) {
	rules, locks := map[string]string{}, map[string]string{}
	for queue, rule := range m.rules {
		rules[queue] = rule.Text()
	}
	for digest, lock := range m.locks {
		locks[digest] = lock.text()
	}
	put("limits", rules)
	put("unique", locks)
	put("cancelled", members(slices.Collect(maps.Keys(m.cancelled))...))
	for queue, ids := range m.counted {
		put("running:"+queue, members(slices.Collect(maps.Keys(ids))...))
	}
	for queue, until := range m.owing {
		if until > float64(m.after) {
			put("rate:"+queue, members(strconv.FormatFloat(until, 'f', 3, 64)))
		}
	}
}

func (m *machine) expectWorkers(put func(string, map[string]string)) {
	now := m.after
	put("workers", members(slices.Collect(maps.Keys(m.workers))...))
	put("dead", members(slices.Collect(maps.Keys(m.dead))...))
	for worker, queues := range m.serves {
		put("worker:"+worker+":queues", members(queues...))
		info := map[string]string{"host": "h", "prefetch": prefetchOf(worker)}
		if m.last[worker] > 0 {
			info["n"] = strconv.FormatInt(m.last[worker], 10)
		}
		if m.restores[worker] > 0 {
			info["restored"] = strconv.FormatInt(m.restores[worker], 10)
		}
		if m.absolved[worker] {
			info["alive"] = "1"
		}
		put("worker:"+worker+":info", info)
	}
	for worker := range m.hearts {
		if m.alive(worker, now) {
			put("worker:"+worker, members(""))
		}
	}
	for worker, running := range m.running {
		put("worker:"+worker+":running", maps.Clone(running))
	}
	if m.lease.until > now {
		put("lease", members(m.lease.holder))
	}
	if m.deputy.until > now {
		put("deputy", members(m.deputy.holder))
	}
	put("stopped", members(slices.Collect(maps.Keys(m.stopped))...))
	put("stopped:info", maps.Clone(m.stopped))
	put("served", members(slices.Collect(maps.Keys(m.once))...))
	put("deadlines", members(slices.Collect(maps.Keys(m.timed))...))
}

// plain takes out of the state what the model does not say: times that stand beside other things, and tokens.
func plain(state redisState) redisState {
	rewrite := func(key string, to func(id, value string) string) {
		for id, value := range state.maps[key] {
			state.maps[key][id] = to(id, value)
		}
	}
	word := func(text string, n int) string { return strings.SplitN(text+"   ", " ", 4)[n] }
	rewrite("claimed", func(id, value string) string {
		return word(value, 0) + " " + word(value, 1) + ":" + id + " " + strings.TrimSpace(word(value, 3))
	})
	rewrite("crashes", func(_, value string) string { return withoutTimes(value) })
	rewrite("lanes", func(_, value string) string { return word(value, 0) + " " + word(value, 1) })
	rewrite("waited", func(string, string) string { return "" })
	for key := range state.maps {
		switch {
		case key == "queues", key == "objects", key == "deaths": // times
			delete(state.maps, key)
		case key == "deadlines", key == "served", key == "stopped", strings.HasPrefix(key, "ended:"):
			rewrite(key, func(string, string) string { return "" })
		case strings.HasSuffix(key, ":running"):
			rewrite(key, func(_, value string) string { _, message, _ := strings.Cut(value, " "); return message })
		case strings.HasPrefix(key, "worker:") && strings.Count(key, ":") == 1:
			state.maps[key] = members("")
		}
	}
	maps.DeleteFunc(state.lists, func(key string, _ []string) bool { return strings.HasPrefix(key, "wake:") })
	return state
}
