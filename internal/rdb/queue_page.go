package rdb

import (
	"context"
	"hash/fnv"
	"slices"

	"github.com/265d0351/work/internal/redisconn"
)

// The bounds of a look for a place in a queue.
const (
	anchors = 4     // jobs on either side of a place by which it is known again
	slack   = 64    // places that it may have moved to be found at once
	stride  = 2_000 // places per further look
	strides = 5     // so many of them into the direction in which places move
)

// QueueCursor is where the next page of a queue begins. The zero value is its front, where the next to run stands.
//
// The places in a list are not its own: they change as workers take from the front, as new jobs come at the back, and
// as people take out any. So a place is known by the jobs around it.
type QueueCursor struct {
	Newest bool     // read from the back
	At     int      // how many stood before it, from where reading began
	Length int      // of the queue then
	Front  Anchor   // the job that was to run next then
	Before []Anchor // the last that were read, the nearest first
	Behind []Anchor // those that come next, the nearest first
}

// Anchor is by what an id is known again: 32 bits of it, so that a cursor is short. 0 is no id. Two ids that are taken
// for one are like a job that was moved by hand: see cut.
type Anchor uint32

// AnchorOf is the anchor of an id.
func AnchorOf(id string) Anchor {
	if id == "" {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(id)) //lint:ignore errcheck it never fails
	return Anchor(max(1, h.Sum32()))
}

func anchorsOf(ids []string) []Anchor {
	all := make([]Anchor, len(ids))
	for i, id := range ids {
		all[i] = AnchorOf(id)
	}
	return all
}

// QueuePart is a part of a queue.
type QueuePart struct {
	Jobs   []SeenJob
	From   int // how many stand before the first, from where reading began
	Length int // of the queue

	window span
	cut    int // where the jobs begin in it
	cursor QueueCursor
}

// Ahead is how many run before the job of that index.
func (p *QueuePart) Ahead(job int) int {
	if p.cursor.Newest {
		return max(0, p.Length-1-p.From-job)
	}
	return p.From + job
}

// Behind is the cursor behind the first so many jobs of the part. It is false at the end of the queue.
func (p *QueuePart) Behind(jobs int) (QueueCursor, bool) {
	ids, at := p.window.ids, p.cut+jobs
	if at >= len(ids) && p.window.last() {
		return QueueCursor{}, false
	}
	before := anchorsOf(ids[max(0, at-anchors):at])
	slices.Reverse(before)
	for _, id := range p.cursor.Before { // a short page: those before it are further away
		if len(before) < anchors && !slices.Contains(before, id) {
			before = append(before, id)
		}
	}
	return QueueCursor{
		Newest: p.cursor.Newest, At: p.From + jobs, Length: p.Length, Front: AnchorOf(p.window.front), Before: before,
		Behind: anchorsOf(ids[min(len(ids), at):min(len(ids), at+anchors)]),
	}, true
}

// ReadQueue reads up to n jobs of a queue behind the cursor. Those that stay in the queue come exactly once, whatever
// workers take and however much comes, up to 10,000 jobs between two pages, and whatever people take out, as long as
// that is not all of the eight jobs around the cursor. Beyond that some come again. In the middle of a long queue Redis
// takes longer than at its ends, see docs/performance.md.
func (s *Store) ReadQueue(ctx context.Context, queue string, cursor QueueCursor, n int) (QueuePart, error) {
	q := queueReader{store: s, queue: queue, cursor: cursor, n: n}
	if len(cursor.Before)+len(cursor.Behind) == 0 {
		return q.from(ctx, cursor.At)
	}
	w, err := q.look(ctx, block{cursor.At - slack, n + 2*slack})
	further := cursor.further(w.length, n)
	for {
		if err != nil {
			return QueuePart{}, err
		}
		if cut, found := cursor.cut(anchorsOf(w.ids)); found {
			return q.whole(ctx, w, cut)
		}
		if len(further) == 0 {
			return q.from(ctx, cursor.fallback(&w))
		}
		w, err = q.look(ctx, further[0])
		further = further[1:]
	}
}

// queueReader is one ReadQueue under way.
type queueReader struct {
	store  *Store
	queue  string
	cursor QueueCursor
	n      int
}

// span is a part of a queue as it was at one moment.
type span struct {
	ids          []string
	from, length int
	front        string
}

func (w *span) last() bool { return w.from+len(w.ids) >= w.length }

// block is a part of a queue to look at: so many places from one on.
type block struct{ from, many int }

// look reads a block, and a few ids behind it.
func (q *queueReader) look(ctx context.Context, b block) (span, error) {
	from := max(0, b.from)
	first, last := from, b.from+b.many+anchors-1
	if !q.cursor.Newest {
		first, last = -last-1, -first-1
	}
	key := q.store.keys.queue(q.queue).queue
	values, err := q.store.many(ctx, []redisconn.Call{
		{Command: "LRANGE", Args: []any{key, first, last}}, {Command: "LLEN", Args: []any{key}},
		{Command: "LINDEX", Args: []any{key, -1}},
	})
	if err != nil {
		return span{}, err
	}
	r := redisconn.Read("LRANGE", values)
	w := span{ids: r.Texts(), from: from, length: int(r.Number()), front: r.Text()}
	if !q.cursor.Newest {
		slices.Reverse(w.ids)
	}
	return w, r.Err()
}

func (q *queueReader) from(ctx context.Context, at int) (QueuePart, error) {
	w, err := q.look(ctx, block{at, q.n})
	return q.part(w, 0), err
}

// whole is the part from a place on that was found, all of it.
func (q *queueReader) whole(ctx context.Context, w span, cut int) (QueuePart, error) {
	part := q.part(w, cut)
	if len(part.Jobs) == q.n || w.last() {
		return part, nil
	}
	w, err := q.look(ctx, block{w.from + cut - slack, q.n + 2*slack})
	if err != nil {
		return QueuePart{}, err
	}
	cut, found := q.cursor.cut(anchorsOf(w.ids))
	switch {
	case found && (cut < len(w.ids) || w.last()):
		return q.part(w, cut), nil
	case len(part.Jobs) > 0: // it has moved again: some are better than none
		return part, nil
	}
	return q.from(ctx, q.cursor.fallback(&w))
}

func (q *queueReader) part(w span, cut int) QueuePart {
	part := QueuePart{From: w.from + cut, Length: w.length, window: w, cut: cut, cursor: q.cursor}
	for _, id := range w.ids[cut:min(len(w.ids), cut+q.n)] {
		part.Jobs = append(part.Jobs, SeenJob{JobPlace: JobPlace{ID: id, Queue: q.queue}})
	}
	return part
}

// cut finds the place among ids: that on whose wrong side the fewest of those that knew it are, since one of them may
// have been moved by hand, or have come back. It is false where none of them is there.
func (c *QueueCursor) cut(ids []Anchor) (at int, found bool) {
	where := make(map[Anchor]int, 2*anchors)
	for i, id := range ids {
		if slices.Contains(c.Before, id) || slices.Contains(c.Behind, id) {
			where[id] = i
		}
	}
	least := len(where)
	for id, i := range where {
		if slices.Contains(c.Before, id) {
			i++
		}
		wrong := c.wrong(where, i)
		if !found || wrong < least || wrong == least && i < at { // the nearer one leaves none out
			at, found, least = i, true, wrong
		}
	}
	return at, found
}

// wrong counts the jobs that would be on the wrong side of a place.
func (c *QueueCursor) wrong(where map[Anchor]int, at int) (n int) {
	for _, id := range c.Before {
		if i, is := where[id]; is && i >= at {
			n++
		}
	}
	for _, id := range c.Behind {
		if i, is := where[id]; is && i < at {
			n++
		}
	}
	return n
}

// further is where to look next. The place as far from the other end as it was comes first: it is there when only the
// end where reading began has moved. Then comes what that end has moved by, if both have, and the little by which
// people and dying workers move jobs into the other direction.
func (c *QueueCursor) further(length, n int) (blocks []block) {
	add := func(from, many int) {
		if from+many > 0 && from < length {
			blocks = append(blocks, block{from, many})
		}
	}
	add(c.At+length-c.Length-slack, n+2*slack)
	for i := range strides {
		if c.Newest {
			add(c.At+i*stride, stride+n) // what is new comes before it
		} else {
			add(c.At-(i+1)*stride, stride+n) // workers take what stands before it
		}
	}
	if c.Newest {
		add(c.At-stride, stride+n)
	} else {
		add(c.At, stride+n)
	}
	return blocks
}

// fallback is where to go on when nobody who knew the place is left. As a rule workers have taken them: read from the
// front, all that was read is gone then; read from the back, all that was not. Where the front is what it was it was
// people: then the place is not nearer to the back than it was, but for what they took out.
func (c *QueueCursor) fallback(w *span) int {
	switch {
	case !c.Newest:
		return 0
	case AnchorOf(w.front) != c.Front && w.length <= c.At+strides*stride:
		return w.length
	}
	return max(0, min(c.At, c.At+w.length-c.Length))
}
