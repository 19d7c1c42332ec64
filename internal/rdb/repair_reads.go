package rdb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// What is here reads a whole namespace in parts, for those who check it. Workers and enqueuers never do.

// Key is a key of the namespace.
type Key struct {
	Name string // without the prefix of the namespace: "queue:a"
	Type string // as Redis calls it: "list"
}

// FullName is the name of a key with the prefix of the namespace.
func (s *Store) FullName(name string) string { return s.keys.prefix + name }

// ScanKeys reads a part of the keys of the namespace. Begin with cursor "0"; it is "0" again after the last part. A key
// may come twice. It walks over all keys of the database, so only the doctor calls it.
func (s *Store) ScanKeys(ctx context.Context, cursor string) (next string, keys []Key, err error) {
	pattern := globEscaper.Replace(s.keys.prefix) + "*"
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SCAN",
		Args: []any{cursor, "MATCH", pattern, "COUNT", MaxBatch}})
	if err != nil {
		return "", nil, err
	}
	r := redisconn.Read("SCAN", value)
	next = r.Text()
	names := r.Texts()
	if r.Err() != nil {
		return "", nil, r.Err()
	}
	types := make([]redisconn.Call, len(names))
	for i, name := range names {
		types[i] = redisconn.Call{Command: "TYPE", Args: []any{name}}
	}
	replies, err := s.brief(ctx, types)
	if err != nil {
		return "", nil, err
	}
	for i, name := range names {
		is, _ := replies[i].(string)
		if is != "none" && strings.HasPrefix(name, s.keys.prefix) {
			keys = append(keys, Key{Name: strings.TrimPrefix(name, s.keys.prefix), Type: is})
		}
	}
	return next, keys, nil
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Field is an entry of a hash, or a member of a zset with its score.
type Field struct {
	Name  string
	Value []byte
}

// Walk reads a hash or a zset in parts, for as long as visit returns no error. Entries that are there all the time are
// visited at least once. The parts grow and shrink with the bytes in them.
func (s *Store) Walk(ctx context.Context, key Key, visit func(page []Field) error) error {
	command := map[string]string{"hash": "HSCAN", "zset": "ZSCAN"}[key.Type]
	count := 16
	for cursor := "0"; ; {
		value, err := s.page(ctx,
			redisconn.Call{Command: command, Args: []any{s.FullName(key.Name), cursor, "COUNT", count}})
		if err != nil {
			return err
		}
		next, page, bytes, err := parseFields(command, value)
		if err != nil {
			return err
		}
		for len(page) > 0 {
			n := min(len(page), maxExamined)
			if err := visit(page[:n]); err != nil {
				return err
			}
			page = page[n:]
		}
		switch {
		case bytes > 1<<20:
			count = max(1, count/4)
		case bytes < 1<<18:
			count = min(maxExamined, 2*count)
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// page reads a page of a walk, and keeps the lead of a mover.
func (s *Store) page(ctx context.Context, read redisconn.Call) (any, error) {
	if s.lead == nil {
		return redisconn.Do(ctx, s.driver, read)
	}
	values, err := s.many(ctx, []redisconn.Call{s.leading(*s.lead, true), read})
	switch {
	case err != nil:
		return nil, err
	case values[0] != int64(1):
		return nil, ErrLed
	}
	return values[1], nil
}

// maxExamined is how many ids a script is given that asks several keys about each.
const maxExamined = 200

func parseFields(command string, value any) (next string, page []Field, bytes int, err error) {
	r := redisconn.Read(command, value)
	next = r.Text()
	list, _ := r.Next().([]any)
	fields := redisconn.NewReader(command, value, list)
	for fields.More() {
		field := Field{Name: fields.Text(), Value: fields.Bytes()}
		bytes += len(field.Name) + len(field.Value)
		page = append(page, field)
	}
	if r.Err() != nil {
		return "", nil, 0, r.Err()
	}
	return next, page, bytes, fields.Err()
}

// Members reads a set in parts.
func (s *Store) Members(ctx context.Context, name string) ([]string, error) {
	var all []string
	for cursor := "0"; ; {
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Command: "SSCAN", Args: []any{s.FullName(name), cursor, "COUNT", MaxBatch}})
		if err != nil {
			return nil, err
		}
		r := redisconn.Read("SSCAN", value)
		next, members := r.Text(), r.Texts()
		if r.Err() != nil {
			return nil, r.Err()
		}
		all = append(all, members...)
		if cursor = next; cursor == "0" {
			return all, nil
		}
	}
}

// lengthOf are the commands that ask for the size of a key, by its type.
var lengthOf = map[string]string{"hash": "HLEN", "zset": "ZCARD", "list": "LLEN", "set": "SCARD"}

// Sizes returns how many entries each of the keys has.
func (s *Store) Sizes(ctx context.Context, keys []Key) ([]int, error) {
	calls := make([]redisconn.Call, len(keys))
	for i, key := range keys {
		calls[i] = redisconn.Call{Command: lengthOf[key.Type], Args: []any{s.FullName(key.Name)}}
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	sizes := make([]int, len(replies))
	for i, reply := range replies {
		n, _ := reply.Value.(int64) // one of a wrong type has none
		sizes[i] = int(n)
	}
	return sizes, err
}

// Elements reads a part of an in-process list, from its newest element, with the claim of each element's job.
func (s *Store) Elements(ctx context.Context, worker, queue string, from int) ([]Element, error) {
	list := s.keys.worker(worker).inprocess(queue)
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LRANGE",
		Args: []any{list, from, from + MaxBatch - 1}})
	if err != nil || value == nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", value, nil)
	names := r.TextsOf(value)
	if r.Err() != nil || len(names) == 0 {
		return nil, r.Err()
	}
	call := redisconn.Call{Command: "HMGET", Args: []any{s.keys.claimed}}
	for _, name := range names {
		_, id, _ := strings.Cut(name, ":")
		call.Args = append(call.Args, id)
	}
	claims, err := redisconn.Do(ctx, s.driver, call)
	if err != nil {
		return nil, err
	}
	r = redisconn.Read("HMGET", claims)
	elements := make([]Element, len(names))
	for i, name := range names {
		number, id, _ := strings.Cut(name, ":")
		elements[i] = Element{Worker: worker, Queue: queue, Number: number, ID: id, text: name,
			Claim: parseHolding(id, r.Text())}
	}
	return elements, r.Err()
}

// Element is one of an in-process list, with the claim of its job, whoever's that is.
type Element struct {
	Worker, Queue, Number, ID string

	Claim Holding
	text  string
}

// Claimed tells whether the claim is that of this very element.
func (e Element) Claimed() bool { return e.Claim.Worker == e.Worker && e.Claim.Number == e.Number }

// Text is the element as it stands in the list.
func (e Element) Text() string { return e.text }

// Unsupported returns those of the claims whose worker is neither registered nor being taken apart, or has no element
// of that claim, and that stand all the same. One who has a heartbeat and is not registered was fenced, and notices by
// itself. A claim is written once: if it reads the same at the end, it stood all the time.
func (s *Store) Unsupported(ctx context.Context, claims []Holding) ([]Holding, error) {
	const questions = 5
	calls := make([]redisconn.Call, 0, questions*len(claims))
	for _, h := range claims {
		calls = append(calls, redisconn.Call{Command: "SISMEMBER", Args: []any{s.keys.workers, h.Worker}},
			redisconn.Call{Command: "SISMEMBER", Args: []any{s.keys.dead, h.Worker}},
			redisconn.Call{Command: "LPOS", Args: []any{s.keys.worker(h.Worker).inprocess(h.Queue), h.Element()}},
			redisconn.Call{Command: "PTTL", Args: []any{s.keys.worker(h.Worker).heart}},
			redisconn.Call{Command: "HGET", Args: []any{s.keys.claimed, h.ID}})
	}
	answers, err := s.brief(ctx, calls)
	if err != nil {
		return nil, err
	}
	var unsupported []Holding
	for i, h := range claims {
		a := answers[questions*i : questions*(i+1)]
		registered, dead := a[0] == int64(1), a[1] == int64(1)
		life, _ := a[3].(int64)
		now, _ := a[4].([]byte)
		fenced := !registered && life >= 0 // it is about to notice
		if string(now) == h.raw && !dead && !fenced && (!registered || a[2] == nil) {
			unsupported = append(unsupported, h)
		}
	}
	return unsupported, nil
}

// InQueue tells whether an id is in a queue, no further from its ends than [Reach].
func (s *Store) InQueue(ctx context.Context, id, queue string) (bool, error) {
	key := s.keys.queue(queue).queue
	answers, err := s.many(ctx, []redisconn.Call{
		{Command: "LPOS", Args: []any{key, id, "RANK", -1, "MAXLEN", Reach}},
		{Command: "LPOS", Args: []any{key, id, "RANK", 1, "MAXLEN", Reach}},
	})
	return err == nil && (answers[0] != nil || answers[1] != nil), err
}

// QueueFront is what a worker that comes to a queue would find.
type QueueFront struct {
	Length, Tokens int
	First          string // id
}

// Fronts returns the present state of queues.
func (s *Store) Fronts(ctx context.Context, queues []string) ([]QueueFront, error) {
	var calls []redisconn.Call
	for _, name := range queues {
		of := s.keys.queue(name)
		calls = append(calls, redisconn.Call{Command: "LLEN", Args: []any{of.queue}},
			redisconn.Call{Command: "LINDEX", Args: []any{of.queue, -1}},
			redisconn.Call{Command: "LLEN", Args: []any{of.wake}})
	}
	answers, err := s.brief(ctx, calls)
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("LINDEX", answers, answers)
	fronts := make([]QueueFront, len(queues))
	for i := range fronts {
		fronts[i].Length, fronts[i].First, fronts[i].Tokens = int(r.Number()), r.Text(), int(r.Number())
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	heads := make([]QueueHead, len(queues))
	turning, err := s.turning(ctx)
	if err == nil {
		err = s.addTurns(ctx, turning, queues, heads)
	}
	for i, head := range heads {
		fronts[i].Length += head.Length
		fronts[i].First = cmp.Or(fronts[i].First, head.First)
	}
	return fronts, err
}

// QueuePart reads a part of a queue, from its back.
func (s *Store) QueuePart(ctx context.Context, queue string, from int) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "LRANGE", Args: []any{s.keys.queue(queue).queue, from, from + MaxBatch - 1}})
	if err != nil || value == nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", value, nil)
	ids := r.TextsOf(value)
	return ids, r.Err()
}

// QueueAhead reads a part of a queue from its front: those that have so many ids before them, in the order in which
// they would be taken.
func (s *Store) QueueAhead(ctx context.Context, queue string, ahead int) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "LRANGE", Args: []any{s.keys.queue(queue).queue, -ahead - MaxBatch, -ahead - 1}})
	if err != nil || value == nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", value, nil)
	ids := r.TextsOf(value)
	slices.Reverse(ids)
	return ids, r.Err()
}

// Time is Redis' clock.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "TIME"})
	if err != nil {
		return time.Time{}, err
	}
	r := redisconn.Read("TIME", value)
	seconds, micros := r.Number(), r.Number()
	return time.UnixMicro(seconds*1_000_000 + micros), r.Err()
}

// ParseHolding reads an entry of the index of claims; one that cannot be read has no Worker and no Queue.
func ParseHolding(id string, value []byte) Holding { return parseHolding(id, string(value)) }
