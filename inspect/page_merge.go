package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/265d0351/work"
)

// merging is one page under way. Jobs on shelves, running ones and those that have ended stand in the order of a time
// and of their ids, so that one mark says for all partitions how far they were read. Queues have no order among each
// other: of each as much is taken in turn, each has a mark of its own, and within the page the times at which jobs
// could have run tell which comes first.
type merging struct {
	opts  PageOptions
	from  pageCursor
	queue string // that is read, of those of the name; of jobs that are not queued the name
}

// merge makes one page of what partitions have. Jobs of one that has not answered are left out; of a queue those come
// later, of other places they do not.
func (m *merging) merge(ctx context.Context, read []answer[pagePart]) (JobPage, error) {
	parts := make([]*pagePart, len(read))
	for n := range read {
		if read[n].err == nil {
			parts[n] = &read[n].value
		}
	}
	here := slices.DeleteFunc(slices.Clone(parts), func(p *pagePart) bool { return p == nil })
	var page JobPage
	for _, p := range here {
		page.Total += p.total
	}
	pick, next := m.byTime, m.behindAll
	if m.opts.State == work.StateQueued {
		pick, next = m.inTurn, func(_ []*pagePart, _ *pagePart) string { return m.behindEach(read) }
	}
	order := pick(here)
	var last *pagePart
	if len(order) > 0 {
		last = order[len(order)-1]
	}
	page.Next = next(here, last)
	for n := range read {
		if p := parts[n]; p != nil && p.taken > 0 {
			read[n].err = m.tell(ctx, p, p.taken)
		}
	}
	page.Jobs = m.told(here, order)
	return page, noted(ctx, failure(read))
}

// byTime takes the first jobs of all, and says of which part each is.
func (m *merging) byTime(parts []*pagePart) (order []*pagePart) {
	for len(order) < m.opts.Limit {
		var first *pagePart
		for _, p := range parts {
			if p.taken < len(p.part.jobs) && (first == nil || m.before(p, first)) {
				first = p
			}
		}
		if first == nil {
			break
		}
		first.taken++
		order = append(order, first)
	}
	return order
}

// before tells whether the next job of one part comes before that of another one.
func (m *merging) before(a, b *pagePart) bool {
	x, y := &a.part.jobs[a.taken], &b.part.jobs[b.taken]
	order := cmp.Or(cmp.Compare(x.At, y.At), strings.Compare(x.ID, y.ID))
	if m.opts.Newest {
		order = -order
	}
	return order < 0
}

// behindAll is the cursor behind the last job that was taken, which is of that part.
func (m *merging) behindAll(parts []*pagePart, last *pagePart) string {
	if last == nil {
		return ""
	}
	mark, more := last.part.behind(last.taken)
	for _, p := range parts {
		if p != last && !more {
			_, more = p.behindTaken()
		}
	}
	if !more && last.taken < len(last.part.jobs) {
		more = true
	}
	if !more {
		return ""
	}
	if mark.ID == "" { // it was the last one of its partition
		job := &last.part.jobs[last.taken-1]
		mark = positionOf(job)
	}
	return m.cursor(mark, nil)
}

// behindTaken is where to go on behind the jobs that were taken of a part; false at its end.
func (p *pagePart) behindTaken() (position, bool) {
	if p.taken == 0 && len(p.part.jobs) > 0 {
		return p.from, true
	}
	return p.part.behind(p.taken)
}

// inTurn takes a job of each queue in turn.
func (m *merging) inTurn(parts []*pagePart) (order []*pagePart) {
	for taken := true; taken; {
		taken = false
		for _, p := range parts {
			if p.taken < len(p.part.jobs) && len(order) < m.opts.Limit {
				p.taken++
				order, taken = append(order, p), true
			}
		}
	}
	return order
}

// behindEach is the cursor behind what was taken of each queue. One that could not be read is read from where it was.
func (m *merging) behindEach(read []answer[pagePart]) string {
	var lines []lineMark
	for n := range read {
		line := lineMark{Partition: read[n].from.partition}
		if read[n].err != nil {
			line.Mark = m.from.markOf(line.Partition)
		} else {
			var more bool
			line.Mark, more = read[n].value.behindTaken()
			line.Over = !more
		}
		lines = append(lines, line)
	}
	if !slices.ContainsFunc(lines, func(line lineMark) bool { return !line.Over }) {
		return ""
	}
	return m.cursor(position{}, lines)
}

// told puts what was told of the jobs into their order.
func (m *merging) told(parts, order []*pagePart) []*JobInfo {
	jobs := []*JobInfo{}
	if m.opts.State == work.StateQueued {
		for {
			var first *pagePart
			for _, p := range parts {
				if len(p.told) > 0 && (first == nil || m.runsBefore(p.told[0], first.told[0])) {
					first = p
				}
			}
			if first == nil {
				return jobs
			}
			jobs, first.told = append(jobs, first.told[0]), first.told[1:]
		}
	}
	at := map[*pagePart]int{}
	for _, p := range order {
		id := p.part.jobs[at[p]].ID
		at[p]++
		if len(p.told) > 0 && p.told[0].ID == id {
			jobs, p.told = append(jobs, p.told[0]), p.told[1:]
		}
	}
	return jobs
}

// runsBefore tells whether a job of a queue is listed before that of another partition.
func (m *merging) runsBefore(a, b *JobInfo) bool {
	if m.opts.Newest {
		a, b = b, a
	}
	return a.RunAt.Before(b.RunAt)
}
