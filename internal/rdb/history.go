package rdb

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var historyScript = redisconn.Load("history/add")

// How long history is kept, after the last that was added to a minute or a day.
const (
	MinutesKept = 24 * time.Hour
	DaysKept    = 90 * 24 * time.Hour
)

// How many names a minute and a day have at the most, of about 200 bytes each: 290 MB in all minutes, 180 MB in all
// days. What is counted of others is under [OtherNames].
const (
	MinuteNames = 1_000
	DayNames    = 10_000

	OtherNames = "(other names: there are too many)"
)

// MaxErrorGroups is how many groups of errors a namespace has before new ones are refused. The janitor makes room.
const MaxErrorGroups = 10_000

// ErrorHours is of how many hours it is known how often errors of a group came, the one under way with them.
const ErrorHours = 24

// Tally is what a worker has counted and not told yet.
type Tally struct {
	Lane   string    // of the worker: random, never used by another one
	Number int64     // of the call; it grows by one, and a call that was not answered is sent again under the same
	At     time.Time // about Redis' clock: which minute and which day it is
	Sums   []Sums
	Errors []ErrorCount
}

// Sums is what was counted of jobs of one name: "<letter>:<n> ...", see docs/contributing/redis-contract.md.
type Sums struct{ Name, Counts string }

// ErrorCount is how often errors of one group came.
type ErrorCount struct {
	Digest, Name, Message string
	Count                 int64
	Sample                string // id of the last job
	Must                  bool   // stored however many groups there are
}

// Tally makes the call that adds what was counted.
func (s *Store) Tally(t Tally) redisconn.Call {
	minute, day := minuteOf(t.At), dayOf(t.At)
	args := append(make([]any, 0, 11+2*len(t.Sums)+6*len(t.Errors)), t.Lane, t.Number, minute.UnixMilli(),
		millis(MinutesKept),
		day.UnixMilli(), millis(DaysKept), MaxErrorGroups, MinuteNames, DayNames, OtherNames, len(t.Sums))
	for _, sums := range t.Sums {
		args = append(args, sums.Name, sums.Counts)
	}
	for _, e := range t.Errors {
		args = append(args, e.Digest, e.Count, e.Must, plainText(e.Sample), plainText(e.Name), plainText(e.Message))
	}
	return redisconn.Call{
		Script: historyScript,
		Keys: []string{s.keys.lanes, s.keys.minute(minute), s.keys.day(day), s.keys.errors,
			s.keys.errorHour(minute)},
		Args: args,
	}
}

// plainText has no NUL, which stands between the parts of a group.
func plainText(text string) string { return strings.ReplaceAll(text, "\x00", "") }

func minuteOf(at time.Time) time.Time { return at.UTC().Truncate(time.Minute) }
func dayOf(at time.Time) time.Time    { return at.UTC().Truncate(24 * time.Hour) }

func (k *keys) minute(at time.Time) string {
	return k.prefix + "stats:" + at.UTC().Format("2006-01-02T15:04")
}
func (k *keys) day(at time.Time) string { return k.prefix + "stats:" + at.UTC().Format(time.DateOnly) }

// errorHour is where it is counted how often errors came in an hour.
func (k *keys) errorHour(at time.Time) string {
	return k.prefix + "stats:errors:" + at.UTC().Format("2006-01-02T15")
}

// errorHours are those of the last hours up to a time, oldest first.
func (k *keys) errorHours(now time.Time) (all []string) {
	for back := ErrorHours - 1; back >= 0; back-- {
		all = append(all, k.errorHour(now.Add(-time.Duration(back)*time.Hour)))
	}
	return all
}

// ErrorCounts reads how often errors of these groups, at most [MaxBatch], came in each of the last hours up to now,
// oldest first.
func (s *Store) ErrorCounts(ctx context.Context, now time.Time, digests []string) (map[string][]int64, error) {
	counts := make(map[string][]int64, len(digests))
	if len(digests) == 0 {
		return counts, nil
	}
	var calls []redisconn.Call
	for _, key := range s.keys.errorHours(now) {
		args := []any{key}
		for _, digest := range digests {
			args = append(args, digest)
		}
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: args})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	for _, value := range values {
		r := redisconn.Read("HMGET", value)
		for _, digest := range digests {
			n, _ := strconv.ParseInt(r.Text(), 10, 64) // what cannot be read is 0
			counts[digest] = append(counts[digest], n)
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return counts, nil
}

// Told is the answer to a tally.
type Told struct {
	Time      time.Time // Redis' clock
	Elsewhere bool      // it is another minute: nothing was added
	Refused   []int     // indices of errors that were not stored: there are too many groups
}

// ParseTold reads the reply to a call of [Store.Tally].
func ParseTold(reply redisconn.Reply) (Told, error) {
	if reply.Err != nil {
		return Told{}, reply.Err
	}
	unexpected := &redisconn.UnexpectedReplyError{Script: historyScript.Name, Reply: reply.Value}
	words := strings.Fields(Word(reply.Value))
	if len(words) == 0 {
		return Told{}, unexpected
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return Told{}, unexpected
	}
	told := Told{Time: fromMillis(at)}
	for _, text := range words[1:] {
		if text == "elsewhere" {
			told.Elsewhere = true
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return Told{}, unexpected
		}
		told.Refused = append(told.Refused, n-1)
	}
	return told, nil
}

// Minutes and Days read the sums that were added at these minutes or days, in UTC: of these names, or of all where
// there are none. It visits what there is, by time.
func (s *Store) Minutes(ctx context.Context, at []time.Time, names []string,
	visit func(at time.Time, sums Sums)) error {
	return s.stats(ctx, s.keys.minute, at, names, visit)
}

// Days is Minutes for days.
func (s *Store) Days(ctx context.Context, at []time.Time, names []string, visit func(at time.Time, sums Sums)) error {
	return s.stats(ctx, s.keys.day, at, names, visit)
}

func (s *Store) stats(
	ctx context.Context, key func(time.Time) string, at []time.Time, names []string, visit func(time.Time, Sums),
) error {
	if len(names) == 0 {
		return s.allStats(ctx, key, at, visit)
	}
	for part := range slices.Chunk(names, MaxBatch) {
		if err := s.someStats(ctx, key, at, part, visit); err != nil {
			return err
		}
	}
	return nil
}

// someStats asks for few names: a reply has at most about 10,000 sums, 4 MiB.
func (s *Store) someStats(
	ctx context.Context, key func(time.Time) string, at []time.Time, names []string, visit func(time.Time, Sums),
) error {
	for batch := range slices.Chunk(at, min(maxPipeline, max(1, 10_000/len(names)))) {
		calls := make([]redisconn.Call, len(batch))
		for i, t := range batch {
			args := append(make([]any, 0, 1+len(names)), key(t))
			for _, name := range names {
				args = append(args, name)
			}
			calls[i] = redisconn.Call{Command: "HMGET", Args: args}
		}
		values, err := s.many(ctx, calls)
		if err != nil {
			return err
		}
		for i, value := range values {
			r := redisconn.Read("HMGET", value)
			for _, name := range names {
				if counts := r.Text(); counts != "" {
					visit(batch[i], Sums{Name: name, Counts: counts})
				}
			}
			if r.Err() != nil {
				return r.Err()
			}
		}
	}
	return nil
}

// allStats asks first which of the keys are there, and walks over those.
func (s *Store) allStats(ctx context.Context, key func(time.Time) string, at []time.Time,
	visit func(time.Time, Sums)) error {
	calls := make([]redisconn.Call, len(at))
	for i, t := range at {
		calls[i] = redisconn.Call{Command: "EXISTS", Args: []any{key(t)}}
	}
	there, err := s.brief(ctx, calls)
	if err != nil {
		return err
	}
	for i, t := range at {
		if there[i] != int64(1) {
			continue
		}
		seen := map[string]bool{} // a walk may show a field twice
		name := strings.TrimPrefix(key(t), s.keys.prefix)
		err := s.Walk(ctx, Key{Name: name, Type: "hash"}, func(page []Field) error {
			for _, field := range page {
				if !seen[field.Name] {
					seen[field.Name] = true
					visit(t, Sums{Name: field.Name, Counts: string(field.Value)})
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ErrorGroup is one kind of failure of jobs of one name.
type ErrorGroup struct {
	ErrorCount
	First, Last time.Time
	raw         []byte
}

// ErrorGroups walks over the groups of errors. One that cannot be read has only a Digest.
func (s *Store) ErrorGroups(ctx context.Context, visit func(page []ErrorGroup) error) error {
	return s.Walk(ctx, Key{Name: "errors", Type: "hash"}, func(fields []Field) error {
		page := make([]ErrorGroup, len(fields))
		for i, field := range fields {
			page[i] = parseErrorGroup(field)
		}
		return visit(page)
	})
}

// parseErrorGroup reads "<count> <last> <first>", id, name and message, with NUL between them.
func parseErrorGroup(field Field) ErrorGroup {
	group := ErrorGroup{ErrorCount: ErrorCount{Digest: field.Name}, raw: field.Value}
	parts := bytes.SplitN(field.Value, []byte{0}, 4)
	numbers := strings.Fields(string(parts[0]))
	if len(parts) != 4 || len(numbers) != 3 {
		return group
	}
	var n [3]int64
	for i, text := range numbers {
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return group
		}
	}
	group.Count, group.Last, group.First = n[0], fromMillis(n[1]), fromMillis(n[2])
	group.Sample, group.Name, group.Message = string(parts[1]), string(parts[2]), string(parts[3])
	return group
}

// CountErrorGroups returns how many groups there are.
func (s *Store) CountErrorGroups(ctx context.Context) (int, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HLEN", Args: []any{s.keys.errors}})
	n, _ := value.(int64)
	return int(n), err
}

// RemoveStaleErrorGroups removes groups to which nothing was added since they were read.
func (s *Store) RemoveStaleErrorGroups(ctx context.Context, groups []ErrorGroup) (removed int, err error) {
	for batch := range slices.Chunk(groups, maxExamined) {
		args := append(make([]any, 0, 1+2*len(batch)), 0)
		for _, group := range batch {
			args = append(args, group.Digest, group.raw)
		}
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Script: removeStaleScript, Keys: []string{s.keys.errors}, Args: args})
		if err != nil {
			return removed, err
		}
		n, _ := value.(int64)
		removed += int(n)
	}
	return removed, nil
}

// ForgetErrorGroups removes the groups of these digests, or all where there are none, and in which hours they came.
func (s *Store) ForgetErrorGroups(ctx context.Context, digests []string) error {
	now, err := s.Time(ctx)
	if err != nil {
		return err
	}
	keys := append(s.keys.errorHours(now), s.keys.errors)
	if len(digests) == 0 {
		args := make([]any, len(keys))
		for n, key := range keys {
			args[n] = key
		}
		_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "UNLINK", Args: args})
		return err
	}
	for batch := range slices.Chunk(digests, MaxBatch) {
		calls := make([]redisconn.Call, len(keys))
		for n, key := range keys {
			calls[n] = redisconn.Call{Command: "HDEL", Args: []any{key}}
			for _, digest := range batch {
				calls[n].Args = append(calls[n].Args, digest)
			}
		}
		if _, err := s.many(ctx, calls); err != nil {
			return err
		}
	}
	return nil
}
