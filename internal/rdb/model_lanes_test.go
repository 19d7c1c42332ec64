package rdb_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// modelSilent is how long a lane is kept after its last call. No call is sent again for that long.
const modelSilent = 25 * time.Second

// between is a Driver that lets something happen between reading the lanes and retiring them.
type between struct {
	redisconn.Driver
	happen func()
}

func (b *between) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil && b.happen != nil {
		happen := b.happen
		b.happen = nil
		happen()
	}
	return b.Driver.Pipeline(ctx, calls...)
}

// removeStaleLanes removes old lanes. Some are used again after they were read, and those must stay.
func (m *machine) removeStaleLanes(t *rapid.T) {
	through := &between{Driver: m.wire.Driver}
	title := "silent lanes are retired"
	if rapid.Bool().Draw(t, "used meanwhile") {
		title += ", after they were read and this happened:"
		through.happen = func() { m.enqueue(t) }
	}
	m.logf(t, "%s", title)
	m.deliver(t, step{
		title: title,
		send: func(store *rdb.Store) (any, error) {
			return nil, everyPart(func(cursor string) (string,
				error) {
				return store.RemoveStaleLanes(background, cursor, modelSilent)
			})
		},
		execute: func() any {
			for _, lane := range slices.Sorted(maps.Keys(m.lanes)) {
				if m.lanes[lane].used < m.before-modelSilent.Milliseconds() {
					m.giveUpLanded(t, lane)
					delete(m.lanes, lane)
				}
			}
			return nil
		},
	}, rdb.NewStore(through, m.site.namespace))
}

// giveUpLanded ends all sending of what the lane knows: once it is forgotten, a copy would be stored as a new call.
func (m *machine) giveUpLanded(t *rapid.T, lane string) {
	landed := m.lanes[lane].number
	m.late = slices.DeleteFunc(m.late, func(l lateStep) bool { return l.lane == lane && l.number <= landed })
	for _, e := range m.enqueuers {
		if e.lane == lane && len(e.jobs) > 0 && e.number <= landed {
			m.logf(t, "%s gives call %d up, which landed", lane, e.number)
			e.jobs = nil
		}
	}
}

// learnLane reads when Redis says that the lane was used, which must be now.
func (m *machine) learnLane(t *rapid.T, lane string) int64 {
	at := asInt(t, strings.Fields(text(m.site.cmd(t, "HGET", "lanes", lane)))[1])
	m.requireNow(t, at, "the time of lane "+lane)
	return at
}

// ageLanes moves the times of the lanes into the past, on a real Redis.
func (m *machine) ageLanes(t *rapid.T, ms int64) {
	for lane, value := range m.site.hash(t, "lanes") {
		words := strings.SplitN(value, " ", 3)
		words[1] = strconv.FormatInt(asInt(t, words[1])-ms, 10)
		m.site.cmd(t, "HSET", "lanes", lane, strings.Join(words, " "))
	}
}
