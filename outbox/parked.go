package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// ParkedRow is a row that a relay has put aside, since it cannot be a job.
type ParkedRow struct {
	Row    int64  // its id in the table
	ID     string // of the job
	Name   string
	Reason string
	Since  time.Time // by the clock of the relay
}

// DB is what reads and changes the table: an *sql.DB, *sql.Conn or *sql.Tx.
type DB interface {
	Tx
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Parked are the first rows that were put aside, at most so many (1 to 10,000), those of lower ids first.
func (o *Outbox) Parked(ctx context.Context, db DB, most int) (found []ParkedRow, err error) {
	if most < 1 || most > 10_000 {
		return nil, &work.InvalidError{What: "number of parked rows", Value: fmt.Sprint(most), Remedy: "use 1 to 10000"}
	}
	rows, err := db.QueryContext(ctx, o.sql(
		"SELECT id, job_id, name, reason, since FROM $ WHERE state = 1 ORDER BY id LIMIT "+strconv.Itoa(most)))
	if err != nil {
		return nil, fmt.Errorf("table %s cannot be read: %w", o.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var p ParkedRow
		var since int64
		if err := rows.Scan(&p.Row, &p.ID, &p.Name, &p.Reason, &since); err != nil {
			return nil, err
		}
		p.Since = time.UnixMilli(since)
		found = append(found, p)
	}
	return found, rows.Err()
}

// Retry lets parked rows be relayed after all, and returns how many were parked. It is safe for rows that never were
// sent; where the reason says that the job may have been stored, it may then run twice.
func (o *Outbox) Retry(ctx context.Context, db DB, rows ...int64) (int, error) {
	n, err := o.change(ctx, db, "UPDATE $ SET state = 0, reason = '' WHERE state = 1 AND id IN ", rows)
	o.Wake()
	return n, err
}

// Discard deletes parked rows, and returns how many were parked.
func (o *Outbox) Discard(ctx context.Context, db DB, rows ...int64) (int, error) {
	return o.change(ctx, db, "DELETE FROM $ WHERE state = 1 AND id IN ", rows)
}

func (o *Outbox) change(ctx context.Context, db DB, query string, rows []int64) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	result, err := db.ExecContext(ctx, o.sql(query+list(rows)))
	if err != nil {
		return 0, fmt.Errorf("parked rows of table %s cannot be changed: %w", o.table, err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// Stats are what is in the table.
type Stats struct {
	Waiting int       // rows to be relayed, those included that are under way
	Parked  int       // rows that were put aside
	Oldest  time.Time // when the first of those that wait was written; zero where none waits
}

// Stats counts the rows, which costs an index scan over them: ask once in a while, for a metric.
func (o *Outbox) Stats(ctx context.Context, db DB) (s Stats, err error) {
	rows, err := db.QueryContext(ctx, o.sql("SELECT state, COUNT(*), MIN(since) FROM $ WHERE state < 2 GROUP BY state"))
	if err != nil {
		return s, fmt.Errorf("table %s cannot be read: %w", o.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var state, n int
		var since int64
		if err := rows.Scan(&state, &n, &since); err != nil {
			return s, err
		}
		if state == parked {
			s.Parked = n
		} else {
			s.Waiting, s.Oldest = n, time.UnixMilli(since)
		}
	}
	return s, rows.Err()
}

// park puts a row aside.
func (r *Relay) park(ctx context.Context, tx *sql.Tx, of row, reason string) (ParkedRow, error) {
	now := time.Now()
	_, err := tx.ExecContext(ctx, r.box.sql("UPDATE $ SET state = ?, since = ?, reason = ? WHERE id = ?"), parked,
		now.UnixMilli(), strings.ReplaceAll(strings.ToValidUTF8(reason, "?"), "\x00", "?"), of.id)
	return ParkedRow{Row: of.id, ID: of.jobID, Name: of.name, Reason: reason, Since: now}, err
}

// numbers reads a column of numbers.
func (o *Outbox) numbers(ctx context.Context, db DB, query string, args ...any) (numbers []int64, err error) {
	rows, err := db.QueryContext(ctx, o.sql(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

// list is (1, 2, 3).
func list(numbers []int64) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return "(" + b.String() + ")"
}
