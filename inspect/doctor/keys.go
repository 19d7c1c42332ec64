package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// inventory is what keys there are, of those with the right type.
type inventory struct {
	fixed   map[string]bool // "jobs"
	queues  map[string]bool // names
	workers map[string]bool // ids
	lists   []heldList      // in-process lists
	serving map[string]bool // ids of workers that have a set of names
	past    map[string]bool // "<state>:<name>" of jobs that have ended
	flows   map[string]bool // ids of flows of which there are keys; whether the flow itself is among them

	contents []string // steps and mailboxes
}

// heldList is one in-process list.
type heldList struct{ worker, queue string }

// typeOf are the keys that are one of a kind.
var typeOf = map[string]string{
	"jobs": "hash", "trail": "hash", "queues": "zset", "ready": "set", "scheduled": "zset", "retry": "zset",
	"names":  "hash",
	"morgue": "zset", "outcomes": "hash", "outcomes:until": "zset", "workers": "set", "dead": "set", "claimed": "hash",
	"crashes": "hash", "deaths": "zset", "lanes": "hash", "lease": "string", "deputy": "string", "deadlines": "zset",
	"served": "zset", "stopped": "zset", "stopped:info": "hash",
	"layout": "string", "epoch": "string", "objects": "zset", "limits": "hash", "home": "string",
	"waited": "hash", "cancelled": "set", "unique": "hash", "errors": "hash", "schedules": "hash", "ticks": "hash",
	"schedules:revision": "string", "stalled": "zset", "doomed": "zset",
	"map": "string", "tracked": "list", "frozen": "hash", "departed": "set", "stragglers": "hash", "foreign": "hash",
	"mover": "string", "pauses": "hash", "hints": "hash",
	"turns": "zset", "passes": "zset", "turning": "hash", "keyed": "hash", "mailed": "hash",
	"parked": "zset", "holding": "zset", "keyrules": "hash", "pacing": "zset", "waking": "zset",
	"audit": "zset", "alerts": "hash", "alerts:silenced": "hash", "alerts:teller": "string",
	"flows": "zset", "flows:filling": "zset", "flows:busy": "zset", "flows:over": "zset",
	"flows:away": "zset",
}

// typeOfEach is the type of keys of which there is one for each queue, job, or hour, by what stands before the first
// colon.
var typeOfEach = map[string]string{
	"queue": "list", "wake": "list", "completion": "list", "running": "set", "rate": "string",
	"log": "list", "state": "string", "steps": "hash", "mail": "list", "stats": "hash", "taken": "hash",
	"ended": "zset", "details": "hash",
	"question": "string", "answer": "string", "leaving": "set",
	"flow": "hash", "flow.records": "hash", "flow.members": "hash", "flow.left": "set", "flow.ends": "zset",
	"flow.edges": "zset", "flow.unmet": "zset", "flow.todo": "list", "flow.results": "hash",
}

// wantedType returns the type that a key should have, "" for one that is not known.
func wantedType(name string) string {
	if want := typeOf[name]; want != "" {
		return want
	}
	if prefix, rest, cut := strings.Cut(name, ":"); cut && rest != "" && typeOfEach[prefix] != "" {
		return typeOfEach[prefix]
	}
	if object, is := strings.CutPrefix(name, "object:"); is {
		return wantedOfObject(object)
	}
	id, part := workerKey(name)
	switch {
	case id == "":
		return ""
	case part == "":
		return "string"
	case part == "queues":
		return "set"
	case part == "info", part == "running":
		return "hash"
	case strings.HasPrefix(part, inProcess) && part != inProcess:
		return "list"
	}
	return ""
}

// wantedOfObject is the type of <sha>, <sha>:jobs, <sha>:leaving or <sha>:upload:<token>.
func wantedOfObject(name string) string {
	sha, part, _ := strings.Cut(name, ":")
	token, upload := strings.CutPrefix(part, "upload:")
	switch {
	case sha == "":
		return ""
	case part == "jobs":
		return "set"
	case part == "", part == "leaving", upload && token != "":
		return "string"
	}
	return ""
}

const inProcess = "inprocess:"

// workerKey takes "worker:<id>:info" apart. Ids of workers have no colons.
func workerKey(name string) (id, part string) {
	rest, is := strings.CutPrefix(name, "worker:")
	if !is {
		return "", ""
	}
	id, part, _ = strings.Cut(rest, ":")
	return id, part
}

// checkKeys walks over all keys of the namespace and looks at their types.
func (d *doctor) checkKeys(ctx context.Context) error {
	d.keys = inventory{fixed: map[string]bool{}, queues: map[string]bool{}, workers: map[string]bool{},
		serving: map[string]bool{}, past: map[string]bool{}, flows: map[string]bool{}}
	now, err := d.store.Time(ctx)
	if err != nil {
		return err
	}
	lists := map[heldList]bool{}
	for cursor := "0"; ; {
		next, keys, err := d.store.ScanKeys(ctx, cursor)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := d.checkKey(ctx, key, now, lists); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "0" {
			break
		}
	}
	d.keys.lists = slices.SortedFunc(maps.Keys(lists), func(a, b heldList) int {
		return strings.Compare(a.worker+" "+a.queue, b.worker+" "+b.queue)
	})
	return d.measure(ctx)
}

func (d *doctor) checkKey(ctx context.Context, key rdb.Key, now time.Time, lists map[heldList]bool) error {
	name, want := d.store.FullName(key.Name), wantedType(key.Name)
	switch {
	case d.renamed[key.Name]:
	case rdb.RenamedBroken(key.Name):
		d.find(Finding{Check: CheckSetAside, Key: name, Detail: "a repair set this " + key.Type + " aside"})
	case want == "":
		d.find(Finding{Check: CheckUnknownKey, Key: name, Detail: "this " + key.Type + " is not known to this version"})
	case want != key.Type:
		return d.renameBroken(ctx, key, want, now)
	default:
		d.note(key.Name, lists)
	}
	return nil
}

func (d *doctor) renameBroken(ctx context.Context, key rdb.Key, want string, now time.Time) error {
	to, done, err := d.mend.RenameBroken(ctx, key, want, now)
	if err != nil {
		return err
	}
	f := Finding{Check: CheckKeyType, Key: d.store.FullName(key.Name), Repaired: done,
		Detail: fmt.Sprintf("it is a %s and should be a %s", key.Type, want)}
	switch {
	case done:
		d.renamed[to] = true
		f.Remedy = checks[CheckSetAside].remedy
		f.Detail += ": it is now " + d.store.FullName(to)
	case d.repair:
		return nil // it has come right meanwhile, and is in the next examination
	default:
		d.broken[key.Name] = true
		f.Detail += "; what rests on it was not examined"
	}
	d.find(f)
	return nil
}

// note keeps what the other checks walk over.
func (d *doctor) note(name string, lists map[heldList]bool) {
	if typeOf[name] != "" {
		d.keys.fixed[name] = true
		return
	}
	if queue, is := strings.CutPrefix(name, "queue:"); is {
		d.keys.queues[queue] = true
		return
	}
	if slices.ContainsFunc(contents, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		d.keys.contents = append(d.keys.contents, name)
		return
	}
	if d.noteFlow(name) {
		return
	}
	for _, prefix := range []string{"ended:", "details:"} {
		if shelf, is := strings.CutPrefix(name, prefix); is {
			d.keys.fixed[name], d.keys.past[shelf] = true, true
			return
		}
	}
	id, part := workerKey(name)
	if id == "" {
		return
	}
	d.keys.workers[id] = true
	if part == "queues" {
		d.keys.serving[id] = true
	}
	if queue, is := strings.CutPrefix(part, inProcess); is {
		lists[heldList{id, queue}] = true
	}
}

// walked are the keys that are read from one end to the other, beside the queues.
var walked = []string{"jobs", "claimed", "names", "trail", "crashes", "scheduled", "retry", "morgue", "outcomes",
	"outcomes:until", "lanes", "turns", "keyed"}

// measure finds out how much there is to do.
func (d *doctor) measure(ctx context.Context) error {
	var keys []rdb.Key
	for _, name := range walked {
		if d.keys.fixed[name] {
			keys = append(keys, rdb.Key{Name: name, Type: typeOf[name]})
		}
	}
	for shelf := range d.keys.past {
		keys = append(keys, rdb.Key{Name: "ended:" + shelf, Type: "zset"},
			rdb.Key{Name: "details:" + shelf, Type: "hash"})
	}
	for name := range d.keys.queues {
		keys = append(keys, rdb.Key{Name: "queue:" + name, Type: "list"})
	}
	sizes, err := d.store.Sizes(ctx, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		d.total += sizes[i]
		if d.limit > 0 && sizes[i] > d.limit {
			d.total -= sizes[i] - d.limit
			d.diagnosis.Unread += sizes[i] - d.limit
		}
		if key.Name == "jobs" {
			d.diagnosis.Jobs = sizes[i]
		}
	}
	d.diagnosis.Queues = len(d.keys.queues)
	d.advance(0)
	return nil
}

// walk reads a hash or a zset, and counts its entries as done. It ends where the limit is.
func (d *doctor) walk(ctx context.Context, name string, visit func(page []rdb.Field) error) error {
	if !d.keys.fixed[name] {
		return nil
	}
	read := 0
	err := d.store.Walk(ctx, rdb.Key{Name: name, Type: wantedType(name)}, func(page []rdb.Field) error {
		if d.limit > 0 && read >= d.limit {
			return errLimited
		}
		read += len(page)
		d.advance(len(page))
		return visit(page)
	})
	if errors.Is(err, errLimited) {
		return nil
	}
	return err
}

// errLimited ends a walk.
var errLimited = errors.New("as much was read as was wanted")

// walkInBatches gathers pages, so that what is asked about each of their entries needs fewer round trips.
func (d *doctor) walkInBatches(ctx context.Context, name string, visit func(batch []rdb.Field) error) error {
	var batch []rdb.Field
	bytes := 0
	flush := func() error {
		gathered := batch
		batch, bytes = nil, 0
		if len(gathered) == 0 {
			return nil
		}
		return visit(gathered)
	}
	err := d.walk(ctx, name, func(page []rdb.Field) error {
		if len(batch)+len(page) > rdb.AtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, page...)
		for _, field := range page {
			bytes += len(field.Value)
		}
		if bytes < lotBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// lotBytes bounds the memory that gathered records take.
const lotBytes = 4 << 20
