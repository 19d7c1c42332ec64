package rdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	receiveScript  = redisconn.Load("partition/receive")
	handOverScript = redisconn.Load("partition/hand_over")
)

// Reception is one call of the lane of a mover.
type Reception struct {
	Source int // the partition that they come from
	Batch
	Front bool  // what waited goes to the front of its queue
	Map   int64 // the version of the map by which it goes there
}

// Received is what came of a reception. What it does not name is stored.
type Received struct {
	Home []int // by index: held jobs that are here themselves
	Busy []int // by index: so they will be, once they have left the partition that they go to
}

// ErrNotTaken says that a partition does not take a batch. Nothing was executed.
var ErrNotTaken = errors.New("the partition does not take what comes from another one")

// notTaken makes the refusal of a batch an ErrNotTaken: its number is older than the last one, or that of another
// batch.
func notTaken(err error) error {
	var refused *redisconn.ServerError
	if errors.As(err, &refused) && (refused.Code == "STALE" || refused.Code == "BATCH") {
		return fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	return routed(err)
}

// Receive stores what another partition has frozen. Where a newer map is known there it is a *[RouteError], and where
// the number of the batch has been used an [ErrNotTaken].
func (s *Store) Receive(ctx context.Context, in Reception, moved []Moved) (Received, error) {
	k := s.keys
	keys := []string{k.lanes, k.jobs, k.trail, k.crashes, k.cancelled, k.waited, k.names, k.unique,
		k.scheduled, k.retry, k.morgue, k.stalled, k.departed, k.foreign, k.stragglers, k.frozen, k.schedules, k.ticks,
		k.revision, k.queues, k.limits, k.control, k.outcomes, k.outcomesUntil}
	keys = k.lines(keys)
	var names, objects nameIndex
	var tail []any
	for i := range moved {
		m := &moved[i]
		turn := m.Turn
		if m.Key != "" {
			turn = Turn{Key: m.Key}.text()
		}
		tail = append(tail, m.What, m.ID, names.of(m.Queue), m.Place, m.Score, m.Cancelled, m.Record, m.Trail,
			m.Crashes, m.Waited, m.Digest, m.Lock, turn, m.Holds, m.Paced, len(m.Objects))
		for _, sha := range m.Objects {
			tail = append(tail, objects.of(sha), sha)
		}
	}
	args := []any{MoveLane + strconv.Itoa(in.Source), in.Number, in.Source, in.Front, len(names.names), in.Name,
		in.Map}
	for _, name := range names.names {
		keys, args = k.queue(name).appendTo(keys), append(args, name)
	}
	for _, sha := range objects.names {
		keys = append(keys, k.object(sha).jobs)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: receiveScript, Keys: keys,
		Args: append(args, tail...)})
	if err != nil {
		return Received{}, notTaken(err)
	}
	var received Received
	for i, field := range strings.Fields(Word(value)) {
		at, why, _ := strings.Cut(field, "=")
		n, err := strconv.Atoi(at)
		if i > 0 && err == nil && n > 0 && n <= len(moved) {
			switch why {
			case "home":
				received.Home = append(received.Home, n-1)
			case "busy":
				received.Busy = append(received.Busy, n-1)
			}
		}
	}
	return received, nil
}

// HandOver forgets a batch that was received, and returns the ids of those that were cancelled since they were frozen:
// they stay until they are named among those that were cancelled there as well.
func (s *Store) HandOver(ctx context.Context, lead Lead, number int64, batch HandedOver) ([]string, error) {
	k := s.keys
	keys := []string{k.mover, k.frozen, k.stragglers, k.foreign, k.unique, k.jobs, k.done}
	var args, belonging []any
	seats, err := s.seats(ctx, batch)
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range batch.Moved {
		m := &batch.Moved[i]
		what := batch.what(i)
		if what == "" {
			continue
		}
		n++
		args = append(args, what, m.ID, m.Digest)
		add := func(kind, key string) { keys, belonging = append(keys, key), append(belonging, kind, n) }
		if m.What == MovedJob && m.Contents {
			for _, key := range []string{k.log(m.ID), k.state(m.ID), k.steps(m.ID), k.mail(m.ID)} {
				add("own", key)
			}
		}
		for _, sha := range m.Objects {
			add("object", k.object(sha).jobs)
		}
		if what == "home" {
			add("running", k.queue(m.Queue).running)
			if seat := seats.of(m.Queue, m.Key, m.ID); seat != "" {
				add("seat "+seat, k.holding)
			}
		}
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: handOverScript, Keys: keys,
		Args: slices.Concat([]any{lead.Token, millis(lead.Life), number, n}, args, belonging)})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read(handOverScript.Name, value)
	if r.Text() == "led" {
		return nil, ErrLed
	}
	var cancelled []string
	for r.More() {
		cancelled = append(cancelled, r.Text())
	}
	return cancelled, r.Err()
}

// seats are where the turns of queues begin, as far as jobs with keys of a batch have gone home that have places here.
func (s *Store) seats(ctx context.Context, batch HandedOver) (turning, error) {
	for _, i := range batch.Received.Home {
		if batch.Moved[i].Key != "" {
			return s.turning(ctx)
		}
	}
	return nil, nil
}

// of is the member that a job has among those that have places of their keys; "" where it has no key.
func (t turning) of(queue, key, id string) string {
	if key == "" || !t.has(queue) {
		return ""
	}
	return fmt.Sprintf("%04d\x00%s\x00%s", t[queue]/laneWidth, key, id)
}

// HandedOver is a batch that was received.
type HandedOver struct {
	Moved     []Moved
	Received  Received
	Cancelled map[string]bool // those that were cancelled at the target too
}

// what is what partition/hand_over is told of an entry; "" is nothing. A batch that somebody has left behind is
// delivered again without what was held, so that what the target says of these by their places is not about the entries
// that stand there now: those are told again.
func (b *HandedOver) what(i int) string {
	m := &b.Moved[i]
	switch {
	case m.What == MovedJob && b.Cancelled[m.ID]:
		return "cancelled"
	case m.What != MovedHeld:
		return m.What
	case slices.Contains(b.Received.Home, i):
		return "home"
	case m.Freed && !slices.Contains(b.Received.Busy, i):
		return "freed"
	}
	return ""
}
