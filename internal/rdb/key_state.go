package rdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

// KeyState is what there is of one key of a queue.
type KeyState struct {
	Key     string
	Weight  int  // of the job of it that came last; 0 where that is not known
	Waiting int  // jobs that have not begun, those of Parked among them
	Exact   bool // Waiting was counted, not reckoned from passes
	Parked  int  // jobs that the key has no room for
	Running int  // jobs that run, or have a place of the key

	Restraint Restraint

	InLine bool // its last pass is behind the one that was served last: [Store.KeysByTurn] has it
}

// Idle tells that nothing is there of the key.
func (k *KeyState) Idle() bool { return k.Waiting == 0 && k.Running == 0 }

// keyReads is how many answers are read of a key in the first step.
const keyReads = 4

// KeyStates reads what there is of up to [MaxBatch] keys of a line, in up to five round trips.
func (s *Store) KeyStates(ctx context.Context, l *KeyLine, keys []string) ([]KeyState, error) {
	if len(keys) == 0 || !l.known() {
		return nil, nil
	}
	calls := make([]redisconn.Call, 0, keyReads*len(keys))
	for _, key := range keys {
		calls = append(calls, s.keyCalls(l, key)...)
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	states, passes, below := make([]KeyState, len(keys)), make([]int64, len(keys)), make([]int, len(keys))
	r := redisconn.Read("keys", values)
	for i, key := range keys {
		states[i] = KeyState{Key: key, Running: int(r.Number()), Parked: int(r.Number())}
		if l.running != nil {
			states[i].Running = l.running[key]
		}
		below[i] = int(r.Number())
		passes[i] = int64(parseScore(r.Text()))
		states[i].InLine = passes[i] > l.floor
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	if err := s.weigh(ctx, l, states, passes); err != nil {
		return nil, err
	}
	restraints, err := s.KeyRestraints(ctx, l, keys)
	if err != nil {
		return nil, err
	}
	for i := range states {
		states[i].Restraint = restraints[i]
		states[i].reckon(l, passes[i], below[i])
	}
	return states, nil
}

// keyCalls ask how many jobs have places of a key, how many are parked, how many of these are behind what was served
// last, and for the last pass of the key.
func (s *Store) keyCalls(l *KeyLine, key string) []redisconn.Call {
	from, to := behind(l.spot(key))
	return []redisconn.Call{
		{Command: "ZLEXCOUNT", Args: []any{s.keys.holding, from, to}},
		{Command: "ZLEXCOUNT", Args: []any{s.keys.parked, from, to}},
		{Command: "ZLEXCOUNT", Args: []any{s.keys.parked, from, "(" + l.spot(key) + l.parkedPass(1)}},
		{Command: "ZSCORE", Args: []any{s.keys.passes, l.queue + "\x00" + key}},
	}
}

// parkedPass is the pass that was served last, and so much more, as parked jobs are sorted by it.
func (l *KeyLine) parkedPass(more int64) string { return padPass(l.floor - l.base + more) }

// weigh reads the weights of keys: of a job that has the last pass of the key, or of the one that was parked last.
// Where many keys have the same last pass it may be that none of the jobs looked at is the key's.
func (s *Store) weigh(ctx context.Context, l *KeyLine, states []KeyState, passes []int64) error {
	var calls []redisconn.Call
	var of []int
	for i := range states {
		if turn, counted := l.counted[states[i].Key]; counted {
			states[i].Weight = turn.weight
			continue
		}
		from, to := behind(l.spot(states[i].Key))
		switch {
		case states[i].Parked > 0:
			calls = append(calls, redisconn.Call{Command: "ZRANGE",
				Args: []any{s.keys.parked, to, from, "BYLEX", "REV", "LIMIT", 0, 1}})
		case states[i].InLine:
			calls = append(calls, redisconn.Call{Command: "ZRANGE",
				Args: []any{s.keys.turns, passes[i], passes[i], "BYSCORE", "LIMIT", 0, sameTurn}})
		default:
			continue
		}
		of = append(of, i)
	}
	if len(calls) == 0 {
		return nil
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return err
	}
	var ids []string
	var whose []int
	for n, value := range values {
		members, err := membersOf(value)
		if err != nil {
			return err
		}
		for _, id := range members {
			if spot := l.spot(states[of[n]].Key); states[of[n]].Parked > 0 {
				id = id[min(len(id), len(spot)+passDigits+1):]
			}
			ids, whose = append(ids, id), append(whose, of[n])
		}
	}
	turns, err := s.turnsOf(ctx, ids)
	for n, turn := range turns {
		if state := &states[whose[n]]; turn.Key == state.Key {
			state.Weight = turn.Weight
		}
	}
	return err
}

// sameTurn is how many jobs with one pass are looked at.
const sameTurn = 8

// reckon finds out how many jobs wait: as they were counted; or as many as have their turns between the pass that was
// served last and the last one of the key, and those that were parked before that.
func (k *KeyState) reckon(l *KeyLine, pass int64, below int) {
	if l.counted != nil {
		turn := l.counted[k.Key]
		k.Waiting, k.Exact = turn.jobs+k.Parked, true
		return
	}
	k.Waiting = below
	if k.InLine {
		turns := float64(pass-l.floor) / float64(partOfTurn/max(1, k.Weight))
		k.Waiting += max(1, int(turns))
	}
	k.Waiting = max(k.Waiting, k.Parked)
	k.Exact = !k.InLine
}
