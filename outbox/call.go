package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
)

// callLife is after what time a call is not sent again: Redis will have forgotten its number.
var callLife = rdb.LaneLife(rdb.LastingLane, 0) * 2 / 3

const (
	// callBytes is how large a call may be, unless a single job is larger.
	callBytes = 1 << 20
	// askFor is how long Redis may take to tell whether a name that is new is served: the lane is locked meanwhile, and
	// with SQLite the database is.
	askFor = time.Second
)

// call is a numbered call of a lane. The table says which rows it has before it is sent, and says so until its answer
// has been heeded: until then nothing is known of it, and it is sent again. That is safe from whoever does it and
// however late, since Redis answers a known number as it did before and refuses an older one.
type call struct {
	lane    int
	token   string
	number  int64
	rows    []row
	jobs    []rdb.NewJob
	at      []int // the partition of each
	version int64 // of the map by which they go there
	oldest  int64 // ms
	opened  int64 // ms
	again   bool
	torn    bool // rows were deleted by hand since it was claimed: places in an earlier answer are not those of jobs
}

// name is the lane as Redis knows it.
func (c *call) name() string { return rdb.LastingLane + c.token }

// laneState is a row of the lanes.
type laneState struct {
	token    string
	number   int64
	openRows string
	opened   int64
	owner    string
	leased   int64
}

// inTx does something in a transaction, within the time of a step.
func (r *Relay) inTx(do func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := step(context.Background())
	defer cancel()
	tx, err := r.db.BeginTx(ctx, r.box.dialect.isolation)
	if err != nil {
		return fmt.Errorf("no transaction on table %s: %w", r.box.table, err)
	}
	defer tx.Rollback() //lint:ignore errcheck it was committed, or the error before counts
	if err := do(ctx, tx); err != nil {
		return fmt.Errorf("table %s: %w", r.box.table, err)
	}
	return tx.Commit()
}

// lock locks a lane for a transaction: nil where another relay has it locked now.
func (r *Relay) lock(ctx context.Context, tx *sql.Tx, lane int) (*laneState, error) {
	if r.box.dialect.hold != "" {
		if _, err := tx.ExecContext(ctx, r.box.sql(r.box.dialect.hold), lane); err != nil {
			return nil, err
		}
	}
	var l laneState
	err := tx.QueryRowContext(ctx, r.box.sql(r.box.dialect.lock), lane).
		Scan(&l.token, &l.number, &l.openRows, &l.opened, &l.owner, &l.leased)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &l, err
}

// claim is the call of a lane that is under way, or makes the next one of the rows that wait: nil where there is
// nothing to do, or another relay does it. It commits which rows the call has. Rows that cannot be jobs are parked by
// the same transaction, and never part of a call: all who send it must send the same.
func (r *Relay) claim(lane int) (c *call, more bool, err error) {
	var told []ParkedRow
	err = r.inTx(func(ctx context.Context, tx *sql.Tx) error {
		state, err := r.lock(ctx, tx, lane)
		now := time.Now()
		if err != nil || state == nil || state.owner != r.owner && state.leased >= now.UnixMilli() {
			return err
		}
		open, err := decodeAssignment(state.openRows)
		if err != nil {
			return fmt.Errorf("open_rows of lane %d cannot be read: %w", lane, err)
		}
		c = &call{lane: lane, token: state.token, number: state.number, opened: state.opened,
			again: open.Rows != nil}
		if c.again {
			err = r.load(ctx, tx, c, open)
		} else {
			more, told, err = r.gather(ctx, tx, c)
			c.number, c.opened = max(state.number+1, now.UnixMicro()), now.UnixMilli()
		}
		if err != nil || !c.again && len(c.rows) == 0 {
			c = nil
			return err
		}
		if !c.again {
			open = assignment{Rows: c.ids(), At: c.at, Map: c.version}
		}
		ids, err := open.encode()
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, r.box.sql(`UPDATE $_lanes SET number = ?, open_rows = ?, opened = ?, owner = ?,
			leased = ? WHERE lane = ?`), c.number, ids, c.opened, r.owner,
			now.Add(r.options.Lease).UnixMilli(), lane)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, row := range told {
		r.tell(Parked{row})
	}
	r.at("claimed")
	return c, more, nil
}

func (c *call) ids() []int64 {
	all := make([]int64, len(c.rows))
	for i := range c.rows {
		all[i] = c.rows[i].id
	}
	return all
}

// load reads the rows of a call that is under way, in the order of the call. Who claimed them had read them as jobs.
func (r *Relay) load(ctx context.Context, tx *sql.Tx, c *call, open assignment) error {
	c.version = open.Map
	found, err := r.read(ctx, tx, c,
		"SELECT id, job_id, name, record, options, since FROM $ WHERE id IN "+list(open.Rows)+" ORDER BY id")
	if err != nil {
		return err
	}
	c.torn = len(found) < len(open.Rows)
	for _, row := range found {
		job, err := row.job()
		if err == nil {
			job.Turn, err = row.turn()
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", row.id, err)
		}
		c.rows, c.jobs, c.at = append(c.rows, row), append(c.jobs, job), append(c.at, open.of(row.id))
	}
	return nil
}

// gather takes the rows that wait, as many as fit into a call.
func (r *Relay) gather(ctx context.Context, tx *sql.Tx, c *call) (more bool, told []ParkedRow, err error) {
	m, bytes := r.parts.Map(), 0
	c.version = m.Version
	if r.held.version != m.Version {
		r.held = held{version: m.Version, upTo: map[int]int64{}}
	}
	found, err := r.read(ctx, tx, c, "SELECT id, job_id, name, record, options, since FROM $ WHERE state = 0 AND "+
		"lane = ? AND id > ? ORDER BY id LIMIT "+strconv.Itoa(r.options.Batch), c.lane, r.held.upTo[c.lane])
	if err != nil {
		return false, nil, err
	}
	for _, row := range found {
		bytes += len(row.record) + len(row.jobID) + len(row.name)
		if len(c.rows) > 0 && bytes > callBytes {
			return true, told, nil
		}
		job, refusal, err := r.examine(ctx, &row)
		if err != nil {
			return false, nil, err
		}
		if refusal != nil {
			put, err := r.park(ctx, tx, row, excerpt.ErrorText(refusal))
			if err != nil {
				return false, nil, err
			}
			told = append(told, put)
			continue
		}
		at, now := home(m, &job)
		if !now {
			if r.held.some = true; len(c.rows)+len(told) == 0 {
				r.held.upTo[c.lane] = row.id
			}
			continue // it waits until what it is bound by has arrived
		}
		c.rows, c.jobs, c.at = append(c.rows, row), append(c.jobs, job), append(c.at, at)
	}
	if len(found) < r.options.Batch {
		delete(r.held.upTo, c.lane) // the next look begins with the first row
		return false, told, nil
	}
	return true, told, nil
}

// read reads rows, and when the oldest of them was written.
func (r *Relay) read(ctx context.Context, tx *sql.Tx, c *call, query string, args ...any) (found []row, err error) {
	rows, err := tx.QueryContext(ctx, r.box.sql(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row row
		var since int64
		if err := rows.Scan(&row.id, &row.jobID, &row.name, &row.record, &row.options, &since); err != nil {
			return nil, err
		}
		if c.oldest == 0 || since < c.oldest {
			c.oldest = since
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

// examine tells whether a row can be a job that the enqueuer accepts. The err says that nobody knows now.
func (r *Relay) examine(ctx context.Context, row *row) (job rdb.NewJob, refusal, err error) {
	if refusal := invalid.JobID(row.jobID); refusal != nil {
		return job, refusal, nil
	}
	decoded, refusal := record.Decode([]byte(row.record))
	switch {
	case refusal != nil:
		return job, fmt.Errorf("its record cannot be read: %w", refusal), nil
	case decoded.ID != row.jobID || decoded.Name != row.name:
		return job, errors.New("its record is of another job: a program writes rows with Enqueue"), nil
	}
	if job, refusal = row.job(); refusal != nil {
		return job, refusal, nil
	}
	if job.Turn, refusal = turnOf(&decoded); refusal != nil {
		return job, refusal, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	refusal, err = inside.Accepts(ctx, r.enq, row.name, decoded.Args)
	return job, refusal, err
}

// turn is turnOf the record of the row.
func (r *row) turn() (rdb.Turn, error) {
	decoded, err := record.Decode([]byte(r.record))
	if err != nil {
		return rdb.Turn{}, err
	}
	return turnOf(&decoded)
}

// turnOf is what has a job wait by turns. Its record alone says so, and not its placement: so a relay of before, which
// refuses what it does not know, relays the row as well.
func turnOf(r *record.Record) (rdb.Turn, error) {
	if r.Key == "" {
		return rdb.Turn{}, nil
	}
	if err := invalid.Word("key of the job", r.Key, invalid.MaxKey); err != nil {
		return rdb.Turn{}, err
	}
	if r.Weight < 0 || r.Weight > rdb.MaxWeight {
		return rdb.Turn{}, &invalid.Error{What: "weight of the job's key", Value: strconv.Itoa(r.Weight),
			Remedy: fmt.Sprintf("use 1 to %d", rdb.MaxWeight)}
	}
	return rdb.Turn{Key: r.Key, Weight: r.Weight}, nil
}

// answer is what became of a call.
type answer struct {
	problems map[int]rdb.Problem
	missing  map[int]string
	returned map[int]bool // they were not stored, and go elsewhere with another call
	unclear  map[int]bool // nobody knows what became of them
	expired  string       // why none of it was sent
}

// send sends the call.
func (r *Relay) send(c *call) (a answer, err error) {
	if time.Since(time.UnixMilli(c.opened)) > callLife {
		a.expired = fmt.Sprintf("it was to be stored at %s, and Redis no longer knows whether it was: look whether it "+
			"has run", time.UnixMilli(c.opened).UTC().Format(time.RFC3339))
		return a, nil
	}
	if len(c.jobs) == 0 {
		return a, nil // somebody has deleted its rows
	}
	ctx, cancel := step(context.Background())
	defer cancel()
	a = answer{problems: map[int]rdb.Problem{}, missing: map[int]string{}, returned: map[int]bool{},
		unclear: map[int]bool{}}
	partitions, places := c.assigned()
	for _, at := range partitions {
		err := r.sendTo(ctx, c, at, places[at], &a)
		var refused *redisconn.ServerError
		if errors.As(err, &refused) && refused.Code == "STALE" {
			return answer{expired: "Redis knows a later call of its lane, so the database is older than Redis (was " +
				"it restored from a backup?) and the job may have been stored: look whether it has run"}, nil
		}
		if err != nil {
			return a, fmt.Errorf("jobs cannot be stored in Redis: %w", err)
		}
	}
	r.at("sent")
	return a, nil
}

// finish deletes the rows of a call that was answered, and parks those that Redis did not take. Where another relay has
// done that already there is nothing to do.
func (r *Relay) finish(c *call, a answer) error {
	event, told := Relayed{Again: c.again}, []ParkedRow(nil)
	mine := false
	err := r.inTx(func(ctx context.Context, tx *sql.Tx) error {
		state, err := r.lock(ctx, tx, c.lane)
		if err != nil {
			return err
		}
		if mine = state != nil && state.number == c.number && state.openRows != ""; !mine {
			return nil
		}
		done := c.ids()
		for i, row := range slices.Backward(c.rows) {
			reason := a.reason(i)
			switch {
			case a.returned[i]:
				done = slices.Delete(done, i, i+1)
			case a.problems[i] == rdb.Duplicate || a.problems[i] == rdb.Unique:
				event.Duplicates++
			case reason == "":
				event.Stored++
			default:
				put, err := r.park(ctx, tx, row, reason)
				if err != nil {
					return err
				}
				told, done = append(told, put), slices.Delete(done, i, i+1)
			}
		}
		if err := r.remove(ctx, tx, done); err != nil {
			return err
		}
		r.at("finishing")
		_, err = tx.ExecContext(ctx, r.box.sql("UPDATE $_lanes SET open_rows = '', leased = 0 WHERE lane = ?"), c.lane)
		return err
	})
	if err != nil || !mine {
		return err
	}
	r.at("finished")
	for _, row := range slices.Backward(told) {
		r.tell(Parked{row})
	}
	if len(a.returned) > 0 && event.Stored+event.Duplicates == 0 {
		return nil // the next call has them
	}
	event.Oldest = time.Since(time.UnixMilli(c.oldest))
	r.tell(event)
	return nil
}

// reason is why a job of the call must be parked; empty where it is stored, or need not be.
func (a *answer) reason(i int) string {
	switch problem := a.problems[i]; {
	case a.expired != "":
		return a.expired
	case a.unclear[i]:
		return "rows of its call were deleted while it was under way, and Redis refused some of that call, perhaps " +
			"this one: look whether it has run"
	case problem == rdb.BadKey:
		return "the key of its queue in Redis holds something that is no list: rename or remove that key"
	case problem == rdb.NoObject:
		return "the object " + a.missing[i] + " that its args refer to is not in Redis"
	case problem != "" && problem != rdb.Duplicate && problem != rdb.Unique:
		return "Redis refused it with " + string(problem)
	}
	return ""
}

// remove deletes rows, or marks them where they are kept.
func (r *Relay) remove(ctx context.Context, tx *sql.Tx, done []int64) error {
	if len(done) == 0 {
		return nil
	}
	if r.options.Keep == 0 {
		_, err := tx.ExecContext(ctx, r.box.sql("DELETE FROM $ WHERE id IN "+list(done)))
		return err
	}
	_, err := tx.ExecContext(ctx, r.box.sql("UPDATE $ SET state = ?, since = ? WHERE id IN "+list(done)), relayed,
		time.Now().UnixMilli())
	return err
}
