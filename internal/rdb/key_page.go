package rdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// passDigits is how long a pass is in the index of parked jobs.
const passDigits = 16

func padPass(pass int64) string { return fmt.Sprintf("%0*d", passDigits, pass) }

// KeyCursor is where a list of keys goes on: behind that one. The zero value is its beginning.
type KeyCursor struct {
	Pass int64 // of the last key, in a list by passes
	Key  string
}

// KeysByTurn reads up to n keys that have jobs in line, those first that will wait longest for the turn of their last
// job, and moves the cursor behind them. It is empty at the end. Keys whose jobs come and go meanwhile may come twice,
// or not at all.
func (s *Store) KeysByTurn(ctx context.Context, l *KeyLine, cursor *KeyCursor, n int) ([]string, error) {
	if !l.known() {
		return nil, nil
	}
	shelf := ShelfCursor{Newest: true, Score: strconv.FormatInt(l.base+laneWidth, 10)}
	if cursor.Key != "" {
		shelf.Score, shelf.ID = strconv.FormatInt(l.base+cursor.Pass, 10), l.queue+"\x00"+cursor.Key
	}
	page, err := s.shelfPage(ctx, s.keys.passes, "", &shelf, n+2) // two of them may be no keys
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, entry := range page {
		pass := int64(parseScore(entry.Score))
		if pass <= l.floor {
			break
		}
		key, is := strings.CutPrefix(entry.ID, l.queue+"\x00")
		if is && strings.Trim(key, "\x00") != "" && len(keys) < n {
			keys, *cursor = append(keys, key), KeyCursor{Pass: pass - l.base, Key: key}
		}
	}
	return keys, nil
}

// KeysParked reads up to n keys behind the cursor that have parked jobs, by their names.
func (s *Store) KeysParked(ctx context.Context, l *KeyLine, cursor *KeyCursor, n int) ([]string, error) {
	return s.keysIn(ctx, l, s.keys.parked, cursor, n)
}

// KeysHeld reads up to n keys behind the cursor of which jobs run, or have places, by their names.
func (s *Store) KeysHeld(ctx context.Context, l *KeyLine, cursor *KeyCursor, n int) ([]string, error) {
	if l.running != nil {
		keys := slices.Sorted(maps.Keys(l.running))
		keys = slices.DeleteFunc(keys, func(key string) bool { return key <= cursor.Key })
		if keys = keys[:min(n, len(keys))]; len(keys) > 0 {
			cursor.Key = keys[len(keys)-1]
		}
		return keys, nil
	}
	return s.keysIn(ctx, l, s.keys.holding, cursor, n)
}

// KeysRuled reads up to n keys behind the cursor that have a rule of their own, by their names. It looks at all that
// have one in the namespace, at most [MaxKeyLimits].
func (s *Store) KeysRuled(ctx context.Context, l *KeyLine, cursor *KeyCursor, n int) ([]string, error) {
	if !l.known() {
		return nil, nil
	}
	rules, err := s.KeyRules(ctx)
	var keys []string
	for of := range rules {
		if of.Queue == l.queue && of.Key > cursor.Key {
			keys = append(keys, of.Key)
		}
	}
	slices.Sort(keys)
	if keys = keys[:min(n, len(keys))]; len(keys) > 0 {
		cursor.Key = keys[len(keys)-1]
	}
	return keys, err
}

// strideOfKeys is how many members are read at once: where keys have more each costs a request.
const strideOfKeys = 64

// keysIn leaps from key to key in a set whose members begin with them.
func (s *Store) keysIn(ctx context.Context, l *KeyLine, set string, cursor *KeyCursor, n int) ([]string, error) {
	if !l.known() {
		return nil, nil
	}
	from, to := behind(l.number() + "\x00")
	if cursor.Key != "" {
		from = "[" + strings.TrimSuffix(l.spot(cursor.Key), "\x00") + "\x01"
	}
	var keys []string
	for len(keys) < n {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZRANGE",
			Args: []any{set, from, to, "BYLEX", "LIMIT", 0, strideOfKeys}})
		if err != nil {
			return nil, err
		}
		members, err := membersOf(value)
		for _, member := range members {
			key := keyIn(member)
			if key != cursor.Key && len(keys) < n {
				keys, cursor.Key = append(keys, key), key
			}
		}
		if err != nil || len(members) < strideOfKeys {
			return keys, err
		}
		from = "[" + strings.TrimSuffix(l.spot(cursor.Key), "\x00") + "\x01"
	}
	return keys, nil
}

// keyIn is the key of a member of those sets.
func keyIn(member string) string {
	_, rest, _ := strings.Cut(member, "\x00")
	key, _, _ := strings.Cut(rest, "\x00")
	return key
}

// heavySample is at how many places the parked jobs are looked at to find the keys that have most of them.
const heavySample = 256

// KeysMostParked finds the keys with the most parked jobs: in any case all that have at least so many as it returns
// beside them. Since the jobs of a key stand together, a look at each so many-th of them comes by those keys.
func (s *Store) KeysMostParked(ctx context.Context, l *KeyLine) (keys []string, atLeast int, err error) {
	if l.Parked == 0 {
		return nil, 1, nil
	}
	from, _ := behind(l.number() + "\x00")
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZLEXCOUNT",
		Args: []any{s.keys.parked, "-", "(" + from[1:]}})
	if err != nil {
		return nil, 0, err
	}
	first, _ := value.(int64)
	atLeast = (l.Parked + heavySample - 1) / heavySample
	var calls []redisconn.Call
	for at := 0; at < l.Parked; at += atLeast {
		rank := first + int64(at)
		calls = append(calls, redisconn.Call{Command: "ZRANGE", Args: []any{s.keys.parked, rank, rank}})
	}
	values, err := s.brief(ctx, calls)
	if err != nil {
		return nil, 0, err
	}
	for _, value := range values {
		members, err := membersOf(value)
		if err != nil {
			return nil, 0, err
		}
		for _, member := range members {
			if strings.HasPrefix(member, l.number()+"\x00") {
				keys = append(keys, keyIn(member))
			}
		}
	}
	return slices.Compact(keys), atLeast, nil // they are sorted
}
