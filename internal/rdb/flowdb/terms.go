package flowdb

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/span"
)

// Terms are what a special member has beside its queue and its record. The zero value is that of nearly all.
type Terms struct {
	Lock rdb.Lock
	Due  int64         // ms; 0 is at once
	In   time.Duration // instead: from when it is stored on
	Turn rdb.Turn
}

// Special tells whether there are any.
func (t Terms) Special() bool {
	return t.Lock.Digest != "" || t.Due > 0 || t.In > 0 || t.Turn.Key != ""
}

// special begins the text of a special member: see flow_reserve of lua/prelude.lua.
const special = "\x1e"

func (t Terms) text() string {
	if !t.Special() {
		return ""
	}
	due, kind, digest, weight := strconv.FormatInt(t.Due, 10), "-", "-", 0
	if t.In > 0 {
		due = "+" + strconv.FormatInt(span.Millis(t.In), 10)
	}
	if t.Lock.Digest != "" {
		kind, digest = string(t.Lock.Kind), t.Lock.Digest
	}
	if t.Turn.Key != "" {
		weight = max(1, t.Turn.Weight)
	}
	return fmt.Sprintf("%s %s %d %s %d %s", due, kind, span.Millis(t.Lock.Life), digest, weight, t.Turn.Key)
}

// termsOf are the terms of a member that runs once more. A lock for a time was that of its first run.
func termsOf(raw []byte) string {
	r, err := record.Decode(raw)
	if err != nil {
		return ""
	}
	t := Terms{Due: r.RunAt, Turn: rdb.Turn{Key: r.Key, Weight: r.Weight}}
	if kind := rdb.LockKind(r.LockKind); kind != rdb.ForATime {
		t.Lock = rdb.Lock{Digest: r.Lock, Kind: kind}
	}
	return t.text()
}

// queue and what stands behind it in the text of a member.
func (m *Member) texts() (queue, rest string) {
	if m.Away {
		return isAway + strconv.Itoa(m.At) + special + m.Queue, ""
	}
	return m.lodgedTexts()
}

// lodgedTexts are the texts where it is at home.
func (m *Member) lodgedTexts() (queue, rest string) {
	if terms := m.Terms.text(); terms != "" {
		return special + m.Queue, terms + "\n" + string(m.Record)
	}
	return m.Queue, string(m.Record)
}

// SpecialOf is what a flow whose members may be special says of some of these: each with its terms behind it, if it has
// any, as [Flows.Reopen] wants them. A flow that has no special ones is asked once.
func (f Flows) SpecialOf(ctx context.Context, id string, members []string) (named []string, err error) {
	if has, err := f.has(ctx, id, "special"); err != nil || !has {
		return members, err
	}
	texts, err := f.Records(ctx, id, members...)
	if err != nil {
		return nil, err
	}
	jobs := make([]any, 0, 1+len(members))
	jobs = append(jobs, f.store.Key("jobs"))
	for _, member := range members {
		jobs = append(jobs, id+"/"+member)
	}
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HMGET", Args: jobs})
	if err != nil {
		return nil, err
	}
	records, _ := value.([]any)
	named = slices.Clone(members)
	for i, text := range texts {
		terms := ""
		switch head, rest, found := strings.Cut(text, "\n"); {
		case strings.HasPrefix(head, special):
			terms, _, _ = strings.Cut(rest, "\n")
		case found:
			terms = termsOf([]byte(rest))
		case i < len(records):
			terms = termsOf([]byte(rdb.Word(records[i])))
		}
		if terms != "" {
			named[i] += "\n" + terms
		}
	}
	return named, nil
}

// FreeLocks frees the locks of all members of a flow that is being removed, or has ended without having begun.
func (f Flows) FreeLocks(ctx context.Context, id string) error {
	if has, err := f.has(ctx, id, "special"); err != nil || !has {
		return err
	}
	var held []rdb.WaitingLock
	note := func(name, text string) {
		head, rest, _ := strings.Cut(text, "\n")
		if words := strings.Fields(rest); strings.HasPrefix(head, special) && len(words) > 3 && words[3] != "-" {
			held = append(held, rdb.WaitingLock{Digest: words[3], Flow: id, Member: name})
		}
	}
	free := func() error {
		err := f.store.FreeWaiting(ctx, held)
		held = held[:0]
		return err
	}
	err := f.scan(ctx, f.keys(id)[1], func(page iter.Seq2[string, string]) error {
		for name, text := range page {
			note(name, text)
		}
		return free()
	})
	if err != nil {
		return err
	}
	for from := 0; ; from += rdb.MaxBatch { // of a batch these have their texts alone
		items, err := f.ids(ctx, "LRANGE", f.keys(id)[7], from, from+rdb.MaxBatch-1)
		if err != nil || len(items) == 0 {
			return err
		}
		for _, item := range items {
			if member, text, found := strings.Cut(item, "\n"); found {
				note(strings.TrimPrefix(member, "s"+id+"/"), text)
			}
		}
		if err := free(); err != nil {
			return err
		}
	}
}
