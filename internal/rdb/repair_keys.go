package rdb

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var agreeKeysScript = redisconn.Load("repair/agree_keys")

// KeySet is one of the sorted sets in which a job of a key may be.
type KeySet string

// The sets that [Mender.AgreeKeys] looks at.
const (
	KeysHolding KeySet = "holding" // jobs that have places of their keys
	KeysParked  KeySet = "parked"  // what finds jobs that are parked
	KeysLined   KeySet = "turns"   // where jobs wait by turns: those that are parked
)

// keyMember is an entry of one of these sets.
type keyMember struct{ number, key, id, pass string }

// AgreeKeys looks at a part of a set, behind the cursor, whose zero value is its beginning, and makes agree what it
// says with all else; and gives places that are free to jobs that are parked. It returns where the next call begins,
// empty behind the last part. A job of a key that has many is looked at with some of the others of the key only.
func (m Mender) AgreeKeys(ctx context.Context, set KeySet, cursor string) (next string, faults []Fault, err error) {
	members, next, err := m.keyMembers(ctx, set, cursor)
	if err != nil || len(members) == 0 {
		return next, nil, err
	}
	t, err := m.Store.turning(ctx)
	if err != nil {
		return next, nil, err
	}
	names := make(map[string]string, len(t))
	for name := range t {
		names[t.numberOf(name)] = name
	}
	k := m.Store.keys
	for len(members) > 0 {
		number := members[0].number
		n := slices.IndexFunc(members, func(of keyMember) bool { return of.number != number })
		if n < 0 {
			n = len(members)
		}
		n = min(n, maxExamined)
		args := []any{m.Mend, number, names[number]}
		for _, of := range members[:n] {
			args = append(args, string(set), of.key, of.id, of.pass)
		}
		value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{Script: agreeKeysScript,
			Keys: k.lines([]string{k.jobs, k.claimed, k.foreign, k.scheduled, k.retry, k.stalled, k.morgue,
				k.queue(names[number]).wake}), Args: args})
		if err != nil {
			return next, faults, err
		}
		found, err := faultPairs(agreeKeysScript.Name, value)
		if err != nil {
			return next, faults, err
		}
		for i := range found {
			found[i].Where = names[number]
		}
		faults, members = append(faults, found...), members[n:]
	}
	return next, faults, nil
}

// numberOf is the number of a queue, as members have it.
func (t turning) numberOf(queue string) string {
	text := strconv.FormatInt(t[queue]/laneWidth, 10)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}

// keyMembers reads a part of a set.
func (m Mender) keyMembers(ctx context.Context, set KeySet, cursor string) (members []keyMember, next string,
	err error) {
	if set == KeysLined {
		return m.linedMembers(ctx, cursor)
	}
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{Command: "ZRANGE",
		Args: []any{m.Store.FullName(string(set)), from, "+", "BYLEX", "LIMIT", 0, MaxBatch}})
	if err != nil {
		return nil, cursor, err
	}
	r := redisconn.NewReader("ZRANGE", value, nil)
	texts := r.TextsOf(value)
	for _, text := range texts {
		parts := strings.Split(text, "\x00")
		switch {
		case set == KeysHolding && len(parts) == 3:
			members = append(members, keyMember{parts[0], parts[1], parts[2], ""})
		case set == KeysParked && len(parts) == 4:
			members = append(members, keyMember{parts[0], parts[1], parts[3], parts[2]})
		}
	}
	if len(texts) == MaxBatch {
		next = texts[len(texts)-1]
		if last := len(members) - 1; set == KeysParked && last > 0 && members[0].number == members[last].number &&
			members[0].key == members[last].key {
			next = members[last].number + "\x00" + members[last].key + "\x00\xff" // what is behind it is much the same
		}
	}
	return members, next, r.Err()
}

// linedMembers reads a part of those that are parked by their scores.
func (m Mender) linedMembers(ctx context.Context, cursor string) (members []keyMember, next string, err error) {
	score, id, _ := strings.Cut(cursor, " ")
	if cursor == "" {
		score = strconv.FormatInt(parkedFrom-1, 10)
	}
	at := ShelfCursor{Score: score, ID: id}
	page, err := m.Store.ShelfPage(ctx, Turns, &at, MaxBatch)
	for _, job := range page {
		number := strconv.FormatInt((int64(parseScore(job.Score))-parkedFrom)/laneWidth, 10)
		members = append(members, keyMember{strings.Repeat("0", max(0, 4-len(number))) + number, "", job.ID, job.Score})
	}
	if len(page) == MaxBatch {
		next = at.Score + " " + at.ID
	}
	return members, next, err
}
