package rdb

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// countedTurns is up to how many jobs that wait by turns are looked at one by one, so that what is told of their keys
// is exact. Where there are more it is reckoned from passes.
const countedTurns = 1_000

// partOfTurn is what a pass counts in, and firstTurn where the turns of a queue begin: see lua/prelude.lua.
const (
	partOfTurn = 840
	firstTurn  = 1 << 30
)

// KeyLine is what waits by turns in a queue, as it was a moment ago. The zero value is that of a queue without keys.
type KeyLine struct {
	Waiting int // jobs with a key that wait for their turn
	Parked  int // jobs with a key that has no room for them
	Held    int // jobs with a key that run, or have one of its places
	Keys    int // keys with jobs in Waiting, about; exact where these are few
	Listed  int // jobs that wait without a key: together they have turns as one more

	queue   string
	base    int64              // of its scores
	floor   int64              // the pass that was served last
	counted map[string]keyTurn // of each key in Waiting; nil where these are too many
	running map[string]int     // jobs that run of each key, where nobody gives them places; else nil
}

// keyTurn is what was counted of a key.
type keyTurn struct{ jobs, weight int }

// known tells whether the queue has had jobs with keys.
func (l *KeyLine) known() bool { return l.queue != "" }

// number is that of the queue as members of sorted sets begin with it.
func (l *KeyLine) number() string { return fmt.Sprintf("%04d", l.base/laneWidth) }

// spot is what the members of a key begin with in the sets of parked jobs and of places.
func (l *KeyLine) spot(key string) string { return l.number() + "\x00" + key + "\x00" }

// behind are the bounds between which a sorted set has what begins so, with its last byte a NUL.
func behind(prefix string) (from, to string) {
	return "[" + prefix, "(" + strings.TrimSuffix(prefix, "\x00") + "\x01"
}

// lineOf finds the line of a queue, and reads nothing of it.
func (s *Store) lineOf(ctx context.Context, queue string) (KeyLine, error) {
	number, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGET", Args: []any{s.keys.turning, queue}})
	if err != nil || number == nil {
		return KeyLine{}, err
	}
	of := redisconn.Read("HGET", []any{number})
	l := KeyLine{queue: queue, base: of.Number() * laneWidth}
	return l, of.Err()
}

// KeyLine reads the line of a queue. What it costs does not grow with how many wait. While no key of the namespace has
// a rule it looks at all that run.
func (s *Store) KeyLine(ctx context.Context, queue string) (KeyLine, error) {
	k := s.keys
	l, err := s.lineOf(ctx, queue)
	if err != nil || !l.known() {
		return KeyLine{}, err
	}
	count := func(base int64) redisconn.Call {
		return redisconn.Call{Command: "ZCOUNT", Args: append([]any{k.turns}, scoresFrom(base)...)}
	}
	from, to := behind(l.number() + "\x00")
	values, err := s.many(ctx, []redisconn.Call{
		count(l.base), count(l.base + parkedFrom),
		{Command: "ZLEXCOUNT", Args: []any{k.holding, from, to}},
		{Command: "LLEN", Args: []any{k.queue(queue).queue}},
		{Command: "ZSCORE", Args: []any{k.passes, queue + "\x00"}},
		{Command: "HGET", Args: []any{k.keyrules, countField}},
	})
	if err != nil {
		return KeyLine{}, err
	}
	r := redisconn.Read("counts", values)
	l.Waiting, l.Parked, l.Held, l.Listed = int(r.Number()), int(r.Number()), int(r.Number()), int(r.Number())
	l.floor = cmp.Or(int64(parseScore(r.Text())), l.base+firstTurn)
	places := r.Text() == countDone
	if r.Err() != nil {
		return KeyLine{}, r.Err()
	}
	if !places {
		if err := s.countRunning(ctx, &l); err != nil {
			return KeyLine{}, err
		}
	}
	return l, s.countKeys(ctx, &l)
}

// countKeys counts the keys of jobs that wait for their turn.
func (s *Store) countKeys(ctx context.Context, l *KeyLine) error {
	bounds := scoresFrom(l.base)
	if l.Waiting > countedTurns {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZCOUNT",
			Args: []any{s.keys.passes, "(" + strconv.FormatInt(l.floor, 10), bounds[1]}})
		n, _ := value.(int64)
		l.Keys = int(n)
		return err
	}
	values, err := s.many(ctx, []redisconn.Call{{Command: "ZRANGE",
		Args: []any{s.keys.turns, bounds[0], bounds[1], "BYSCORE", "LIMIT", 0, 2 * countedTurns}}})
	if err != nil {
		return err
	}
	l.counted = map[string]keyTurn{}
	ids, err := membersOf(values[0])
	if err != nil {
		return err
	}
	turns, err := s.turnsOf(ctx, ids)
	for _, turn := range turns {
		if turn.Key != "" {
			l.counted[turn.Key] = keyTurn{l.counted[turn.Key].jobs + 1, turn.Weight}
		}
	}
	l.Keys = len(l.counted)
	return err
}

// membersOf are the members that a ZRANGE has answered.
func membersOf(value any) ([]string, error) {
	r := redisconn.NewReader("ZRANGE", value, nil)
	members := r.TextsOf(value)
	return members, r.Err()
}

// turnsOf reads the keys of jobs, and their weights. Those that have none have the zero value.
func (s *Store) turnsOf(ctx context.Context, ids []string) ([]Turn, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HMGET",
		Args: appendTexts([]any{s.keys.keyed}, ids)})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("HMGET", value)
	turns := make([]Turn, len(ids))
	for i := range turns {
		turns[i] = parseTurn(r.Text())
	}
	return turns, r.Err()
}

// parseTurn reads what Turn.text wrote.
func parseTurn(text string) Turn {
	weight, key, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(weight)
	if err != nil || key == "" {
		return Turn{}
	}
	return Turn{Key: key, Weight: n}
}
