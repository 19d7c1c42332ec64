package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rawjson"
)

// Record is a job as it is stored in Redis, written once at the enqueue. Fields that are absent mean the default. Other
// versions and other languages may write fields that this one does not know: they are left alone.
type Record struct {
	ID         string            `json:"jid"`
	Name       string            `json:"name"`
	Args       json.RawMessage   `json:"args"` // an array; nil is written as an empty one
	EnqueuedAt int64             `json:"t"`    // ms, Redis' clock as the enqueuer knew it
	Source     int64             `json:"source,omitempty"`
	Retries    *int              `json:"retries,omitempty"` // nil is the job's own
	Timeout    int64             `json:"timeout,omitempty"` // ms
	Retention  int64             `json:"retention,omitempty"`
	RunAt      int64             `json:"at,omitempty"` // ms, where it was not due at once
	Meta       map[string]string `json:"meta,omitempty"`
	Parent     string            `json:"parent,omitempty"` // the id of the job whose handler enqueued it

	Extras
}

// Extras are the fields that few jobs have.
type Extras struct {
	Lock       string `json:"lock,omitempty"`       // digest of the job's lock, see rdb.Lock
	LockKind   string `json:"lock_kind,omitempty"`  // "f", "s" or "t"
	Completion string `json:"completion,omitempty"` // the completion queue that gets its id when it has ended
	// position of an argument -> SHA-256 in hex of the object that stands for it
	Objects  map[int]string `json:"objects,omitempty"`
	Expires  int64          `json:"expires,omitempty"`   // ms: a job that has not begun by then does not begin
	Deadline int64          `json:"deadline,omitempty"`  // ms: its attempts end then
	RetryFor int64          `json:"retry_for,omitempty"` // ms after the first failure in which it is tried again
	Tags     []string       `json:"tags,omitempty"`
	OmitArgs bool           `json:"omit_args,omitempty"` // what is kept of it when it has ended is without its args
	AgainOf  string         `json:"again_of,omitempty"`  // the id of the ended job that it does again
	Given    bool           `json:"given,omitempty"`     // the program has chosen the id, which binds it to a partition
	Key      string         `json:"key,omitempty"`       // it waits by turns with the jobs of other keys
	Weight   int            `json:"weight,omitempty"`    // of its key; 0 is 1
	Flow     string         `json:"flow,omitempty"`      // the id of the flow that it is a member of
	Next     []string       `json:"next,omitempty"`      // names of jobs that may wait for it in that flow
	Leaf     bool           `json:"leaf,omitempty"`      // no member of that flow waits for it
	Needs    []string       `json:"needs,omitempty"`     // labels that a worker must have to run it
	// the queue that its name shares with others; the last one: see InQueue
	Shared string `json:"queue,omitempty"`
}

// Default stands for the record of a job that was enqueued without any option.
var Default Record

// Queue is the queue in which the job waits, unless a worker without a handler for it has handed it on: see needs.Home.
func (r *Record) Queue() string { return needs.Queue(cmp.Or(r.Shared, r.Name), needs.Sorted(r.Needs)) }

// InQueue is an encoded record of a job that waits in a queue which its name shares with others, or in one of its name
// alone again (""). before is the one in which it was put by InQueue already. All else stays byte for byte.
func InQueue(raw []byte, before, queue string) []byte {
	raw = bytes.TrimSuffix(raw, []byte("}"))
	if before != "" {
		raw = bytes.TrimSuffix(raw, sharedField(before))
	}
	moved := append(make([]byte, 0, len(raw)+len(queue)+16), raw...) // others may have the room behind it
	if queue != "" {
		moved = append(moved, sharedField(queue)...)
	}
	return append(moved, '}')
}

// sharedField is the field of such a queue, as it stands at the end of a record.
func sharedField(queue string) []byte { return rawjson.AppendString([]byte(`,"queue":`), queue) }

// IsDefault tells that there is nothing in the record but what every job has.
func (r *Record) IsDefault() bool {
	return r.Retries == nil && r.Timeout == 0 && r.Retention == 0 && r.Extras.empty()
}

// empty tells that there are none, so that nothing need be written.
func (e *Extras) empty() bool {
	return e.Lock == "" && e.LockKind == "" && e.Completion == "" && len(e.Objects) == 0 && e.Expires == 0 &&
		e.Deadline == 0 && e.RetryFor == 0 && len(e.Tags) == 0 && !e.OmitArgs && e.AgainOf == "" && !e.Given &&
		e.Key == "" && e.Weight == 0 && e.Flow == "" && !e.Leaf && len(e.Needs) == 0 && e.Shared == ""
}

// Member is the name of the job in its flow: its id is that of the flow, a slash and the name. It is empty for a job
// that is in none, and for one that does again what a member did.
func (r *Record) Member() string {
	if r.Flow == "" {
		return ""
	}
	name, is := strings.CutPrefix(r.ID, r.Flow+"/")
	if !is {
		return ""
	}
	return name
}

// appendTo writes the extras behind the other fields.
func (e *Extras) appendTo(dst []byte) []byte {
	if e.empty() {
		return dst
	}
	own := *e // so that none of those who have no extras needs to be on the heap
	extras, err := json.Marshal(&own)
	if err != nil { // strings and numbers only: cannot happen
		return dst
	}
	return append(append(dst, ','), bytes.TrimSuffix(bytes.TrimPrefix(extras, []byte("{")), []byte("}"))...)
}

// Append appends the JSON of the record to dst: what encoding/json would write, with the args byte for byte.
func (r *Record) Append(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"jid":`...), r.ID)
	dst = rawjson.AppendString(append(dst, `,"name":`...), r.Name)
	dst = append(dst, `,"args":`...)
	if r.Args == nil {
		dst = append(dst, `[]`...)
	}
	dst = append(dst, r.Args...)
	dst = strconv.AppendInt(append(dst, `,"t":`...), r.EnqueuedAt, 10)
	dst = appendField(dst, `,"source":`, r.Source)
	if r.Retries != nil {
		dst = strconv.AppendInt(append(dst, `,"retries":`...), int64(*r.Retries), 10)
	}
	dst = appendField(dst, `,"timeout":`, r.Timeout)
	dst = appendField(dst, `,"retention":`, r.Retention)
	dst = appendField(dst, `,"at":`, r.RunAt)
	if len(r.Meta) > 0 {
		dst = append(dst, `,"meta":`...)
		for i, key := range slices.Sorted(maps.Keys(r.Meta)) {
			dst = append(dst, "{,"[min(i, 1)])
			dst = append(rawjson.AppendString(dst, key), ':')
			dst = rawjson.AppendString(dst, r.Meta[key])
		}
		dst = append(dst, '}')
	}
	if r.Parent != "" {
		dst = rawjson.AppendString(append(dst, `,"parent":`...), r.Parent)
	}
	return append(r.appendTo(dst), '}')
}

// appendField writes a number that may be left out when it is 0.
func appendField(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), n, 10)
}
