package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/redisconn"
)

// Kind is what a place of the old side is for.
type Kind string

// The kinds of places. They have the words of this side.
const (
	Queued    Kind = "queued"
	Scheduled Kind = "scheduled"
	Retrying  Kind = "retrying"
	Dead      Kind = "dead"
	Running   Kind = "running"
	Grouped   Kind = "grouped" // waits to be put together with others
)

// Kinds are all of them, in the order in which they are brought over.
var Kinds = []Kind{Running, Queued, Retrying, Scheduled, Grouped, Dead}

// Shelf is a place of the old side with jobs in it.
type Shelf struct {
	Ledger string // the beginning of the keys of its ledger
	Kind   Kind
	Queue  string // that it belongs to
	Key    string
	Owner  string // who runs what is in it, or the name of the group
}

// Job is a job of the old side as it was found, or taken.
type Job struct {
	Kind      Kind   `json:"kind"`
	Queue     string `json:"queue"`
	Key       string `json:"key"`    // of its place
	Member    string `json:"member"` // what stands there
	Raw       []byte `json:"raw"`    // its record
	Due       int64  `json:"due,omitempty"`
	Lock      string `json:"lock,omitempty"`
	LockUntil int64  `json:"lock_until,omitempty"` // ms
	Value     []byte `json:"-"`                    // what the lock held, where that is a record
}

// Batch are jobs that were taken and have not been closed.
type Batch struct {
	Number    int64
	Partition int
	Opened    time.Time
	Jobs      []Job
}

// Ledger are the keys of one ledger.
type Ledger struct {
	driver redisconn.Driver
	name   string
}

// New makes a ledger whose keys begin so: in the slot of what is taken.
func New(driver redisconn.Driver, name string) Ledger { return Ledger{driver: driver, name: name} }

// Head is the hash with token and number, which stays.
func (l Ledger) Head() string { return l.name + "ledger" }

// Batch is the hash of the batch that is under way.
func (l Ledger) Batch() string { return l.name + "batch" }

// Token is the name of the lane for what is taken here. It is made once, and stays as long as the ledger does.
func (l Ledger) Token(ctx context.Context) (string, error) {
	call := redisconn.Call{Command: "HSETNX", Keys: []string{l.Head()}, Args: []any{"token", ids.Random(16)}}
	read := redisconn.Call{Command: "HGET", Keys: []string{l.Head()}, Args: []any{"token"}}
	replies, err := l.driver.Pipeline(ctx, call, read)
	if err != nil {
		return "", err
	}
	values, err := redisconn.Values(replies)
	if err != nil {
		return "", err
	}
	r := redisconn.NewReader("HGET", values, values[1:])
	token := r.Text()
	return token, r.Err()
}

// Open is the batch that is under way; nil where there is none.
func (l Ledger) Open(ctx context.Context) (*Batch, error) {
	value, err := redisconn.Do(ctx, l.driver, redisconn.Call{Command: "HGETALL", Keys: []string{l.Batch()}})
	if err != nil {
		return nil, err
	}
	texts := redisconn.Read("HGETALL", value)
	fields := map[string]string{}
	for texts.More() {
		field := texts.Text()
		fields[field] = texts.Text()
	}
	if err := texts.Err(); err != nil || len(fields) == 0 {
		return nil, err
	}
	return decode(l.Batch(), fields)
}

// decode reads a batch as the scripts write it.
func decode(key string, fields map[string]string) (*Batch, error) {
	broken := func(field string, err error) error {
		return fmt.Errorf("field %s of %s, a batch that was taken, cannot be read: %w", field, key, err)
	}
	number := func(field string) (int64, error) {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, broken(field, err)
		}
		return n, nil
	}
	var of [4]int64
	for i, field := range []string{"number", "partition", "opened", "jobs"} {
		n, err := number(field)
		if err != nil {
			return nil, err
		}
		of[i] = n
	}
	b := &Batch{Number: of[0], Partition: int(of[1]), Opened: time.UnixMilli(of[2])}
	for i := range of[3] {
		field := "e" + strconv.FormatInt(i+1, 10)
		var job Job
		if err := json.Unmarshal([]byte(fields[field]), &job); err != nil {
			return nil, broken(field, err)
		}
		if value, found := fields["u"+field[1:]]; found {
			job.Value = []byte(value)
		}
		b.Jobs = append(b.Jobs, job)
	}
	return b, nil
}
