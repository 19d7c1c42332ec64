package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
)

// lanes is how many there are: the migrations make them.
const lanes = 8

// The states of a row, as the migrations explain them.
const (
	waiting = iota
	parked
	relayed
)

// Outbox writes jobs into a table. Make it with [New].
type Outbox struct {
	dialect *Dialect
	table   string
	silent  bool
	codecs  *codec.Chain
	refused error // what is wrong with these
	wake    chan struct{}
}

// Option is an option of [New].
type Option func(*Outbox)

// Table is the name of the table, "work_outbox" by default; that of its lanes has "_lanes" behind it. It has 1 to 40
// lower case letters, digits and underscores. A table belongs to one namespace of one Redis.
func Table(name string) Option { return func(o *Outbox) { o.table = name } }

// Codecs are how the args of the jobs are written, as [work.Codecs] has an Enqueuer store them: sealed in the table as
// they are in Redis. Those of a Kind beat them. A relay needs none.
func Codecs(codecs ...work.Codec) Option {
	return func(o *Outbox) { o.codecs, o.refused = inside.NewCodecs("option Codecs", codecs) }
}

// WithoutNotify leaves out the NOTIFY that wakes relays when a transaction on PostgreSQL is committed. PostgreSQL lets
// transactions with one commit one at a time: where thousands commit each second, relays had better look (Poll).
func WithoutNotify() Option { return func(o *Outbox) { o.silent = true } }

var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// New makes an outbox. It returns a *work.InvalidError for options that cannot be.
func New(dialect *Dialect, opts ...Option) (*Outbox, error) {
	o := &Outbox{dialect: dialect, table: "work_outbox", wake: make(chan struct{}, 1)}
	for _, opt := range opts {
		opt(o)
	}
	switch {
	case o.refused != nil:
		return nil, o.refused
	case dialect == nil:
		return nil, &work.InvalidError{What: "dialect of the outbox", Value: "nil",
			Remedy: "use outbox.PostgreSQL, outbox.MySQL or outbox.SQLite"}
	case !tableName.MatchString(o.table):
		return nil, &work.InvalidError{What: "table of the outbox", Value: fmt.Sprintf("%.60q", o.table),
			Remedy: "use 1 to 40 lower case letters, digits and underscores"}
	}
	return o, nil
}

// Tx is what Enqueue needs of a transaction. *sql.Tx is one, and so is what pgxoutbox.Tx returns. With an *sql.DB or
// *sql.Conn outside of a transaction the jobs are committed at once.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Enqueue writes jobs that run once tx is committed, and never if it is rolled back. All entries are checked first:
// if one is invalid, nothing is written, and the error is, or wraps, a *work.InvalidError or what encoding/json said.
// Entries of one name come into their queue in the order given. There is one Receipt per entry, with the id that the
// job will have; a job whose ID or kind (Unique) lives when it is relayed is dropped as a duplicate, which nobody
// tells the caller.
//
// After an error of the database the transaction must be rolled back. A delay (Entry.In) counts from now, by the clock
// of this machine. Refused are WaitReplicas, and an OnConflict other than KeepExisting. Args have at most 1 MiB of JSON
// in all. JobOptions.Unique of a pool does not count here; that of a Kind does.
func (o *Outbox) Enqueue(ctx context.Context, tx Tx, entries ...work.Entry) ([]work.Receipt, error) {
	return o.write(ctx, tx, rand.IntN(lanes), entries)
}

// EnqueueOrdered is Enqueue of jobs that come into their queues in the order in which those of the same key were
// written: where one transaction began to write after another one had committed, its jobs are behind. Of transactions
// that overlap either may be first. An empty key is one as well.
func (o *Outbox) EnqueueOrdered(ctx context.Context, tx Tx, key string, entries ...work.Entry) ([]work.Receipt, error) {
	hash := fnv.New32a()
	hash.Write([]byte(key)) //lint:ignore errcheck a hash takes everything
	return o.write(ctx, tx, int(hash.Sum32()%lanes), entries)
}

// Wake tells the relays of this Outbox that a transaction was committed, so that they need not find out. It may be
// called at any time, also without one.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default: // one is enough
	}
}

// writeMost is how many rows one INSERT writes: databases bound the parameters of a statement.
const writeMost = 500

func (o *Outbox) write(ctx context.Context, tx Tx, lane int, entries []work.Entry) ([]work.Receipt, error) {
	rows, receipts := make([]row, len(entries)), make([]work.Receipt, len(entries))
	for i, entry := range entries {
		job, err := inside.Prepare(entry, o.codecs)
		if err != nil && len(entries) > 1 {
			err = fmt.Errorf("entry %d: %w", i, err)
		}
		if err != nil {
			return nil, err
		}
		rows[i] = newRow(&job)
		receipts[i] = work.Receipt{ID: job.ID, Name: job.Name()}
		if job.Place == rdb.At {
			receipts[i].RunAt = time.UnixMilli(job.When)
		}
	}
	for from := 0; from < len(rows); from += writeMost {
		if err := o.insert(ctx, tx, lane, rows[from:min(from+writeMost, len(rows))]); err != nil {
			return nil, fmt.Errorf("jobs cannot be written to table %s (was it migrated?): %w", o.table, err)
		}
	}
	if o.dialect.notify != "" && !o.silent && len(rows) > 0 {
		if _, err := tx.ExecContext(ctx, o.dialect.notify, o.table); err != nil {
			return nil, fmt.Errorf("relays of table %s cannot be notified: %w", o.table, err)
		}
	}
	return receipts, nil
}

func (o *Outbox) insert(ctx context.Context, tx Tx, lane int, rows []row) error {
	now, args := time.Now().UnixMilli(), make([]any, 0, 6*len(rows))
	for _, r := range rows {
		args = append(args, lane, now, r.jobID, r.name, r.record, r.options)
	}
	query := "INSERT INTO $ (lane, since, job_id, name, record, options) VALUES (?, ?, ?, ?, ?, ?)" +
		strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(rows)-1)
	_, err := tx.ExecContext(ctx, o.sql(query), args...)
	return err
}

// sql is a query for the database and the table: written with ? for parameters and $ for the name of the table.
func (o *Outbox) sql(query string) string {
	return o.dialect.bind(strings.ReplaceAll(query, "$", o.table))
}

// row is a job in the table.
type row struct {
	id      int64
	jobID   string
	name    string
	record  string
	options string
}

// placement is what Redis is told of a job beside its record.
type placement struct {
	Place   rdb.Place `json:"place"`
	When    int64     `json:"when,omitempty"`
	Chosen  bool      `json:"chosen,omitempty"`
	Lock    *rdb.Lock `json:"lock,omitempty"`
	Objects []string  `json:"objects,omitempty"`
}

func newRow(job *rdb.NewJob) row {
	p := placement{Place: job.Place, When: job.When, Chosen: job.Chosen, Objects: job.Objects}
	if job.Lock.Digest != "" {
		p.Lock = &job.Lock
	}
	options, _ := json.Marshal(p) // strings and numbers
	return row{jobID: job.ID, name: job.Queue, record: string(job.Record), options: string(options)}
}

// job is what was written. Nothing is guessed: a row that has more than this program knows is refused.
func (r *row) job() (rdb.NewJob, error) {
	var p placement
	decoder := json.NewDecoder(strings.NewReader(r.options))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return rdb.NewJob{}, fmt.Errorf("its options cannot be read (were they written by a newer program?): %w", err)
	}
	switch p.Place {
	case rdb.Back, rdb.Front, rdb.At:
	default:
		return rdb.NewJob{}, errors.New("its options name no place: a program writes rows with Enqueue")
	}
	job := rdb.NewJob{Queue: r.name, ID: r.jobID, Chosen: p.Chosen, Place: p.Place, When: p.When,
		Record: []byte(r.record), Objects: p.Objects}
	if p.Lock != nil {
		job.Lock = *p.Lock
	}
	return job, nil
}
