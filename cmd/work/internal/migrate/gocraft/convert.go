package gocraft

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/unquoted"
)

// record is a job as it is stored.
type record struct {
	Name      string          `json:"name"`
	ID        string          `json:"id"`
	Args      json.RawMessage `json:"args"`
	Unique    bool            `json:"unique"`
	UniqueKey string          `json:"unique_key"`
	Fails     int             `json:"fails"`
	Err       string          `json:"err"`
}

// known are the fields of a record.
var known = map[string]bool{"name": true, "id": true, "t": true, "args": true, "unique": true, "unique_key": true,
	"fails": true, "err": true, "failed_at": true}

// decode reads a job.
func decode(raw []byte) (r record, unknown bool, err error) {
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, false, fmt.Errorf("its record cannot be read: %w", unquoted.Error(err))
	}
	if r.Name == "" || r.ID == "" {
		return r, false, errors.New("its record has no name or no id")
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it is an object
	for field := range all {
		unknown = unknown || !known[field]
	}
	return r, unknown, nil
}

// Convert makes a job of a record.
func (s *Source) Convert(job ledger.Job, now time.Time) (*migrate.Coming, error) {
	r, unknown, err := decode(job.Raw)
	if err != nil {
		return nil, err
	}
	c := &migrate.Coming{Name: r.Name, ID: migrate.ID("gocraft", r.ID), Dead: job.Kind == ledger.Dead,
		Meta: map[string]string{"gocraft.error": migrate.Brief(r.Err)}}
	args := r.Args
	if len(job.Value) > 0 && string(job.Value) != "1" { // the args of the last enqueue of its kind
		last, _, err := decode(job.Value)
		if err != nil {
			return nil, fmt.Errorf("its unique lock: %w", err)
		}
		args = last.Args
	}
	if len(args) > 0 && string(args) != "null" { // what is enqueued with nil, and all that is periodic, has none
		c.Args = []any{args}
	}
	if r.Fails > 0 {
		c.Meta["gocraft.fails"] = strconv.Itoa(r.Fails)
	}
	if most := s.maxFails.of(r.Name); most > 0 {
		c.Options = append(c.Options, work.Retries(max(0, most-r.Fails-1)))
	} else if r.Fails > 0 {
		c.Notes = append(c.Notes, "has failed before, and has all attempts of its handler here: see --max-fails")
	}
	if job.Kind == ledger.Scheduled || job.Kind == ledger.Retrying {
		c.At = time.Unix(max(job.Due, 1), 0)
	}
	if unknown {
		c.Notes = append(c.Notes, "record has fields that are not known here: they are left out")
	}
	lock(c, &r, job, now)
	return c, nil
}

// lock makes the job unique until it begins, as it was. Where its key was that of its args, another one with these args
// is the same here, too.
func lock(c *migrate.Coming, r *record, job ledger.Job, now time.Time) {
	until := time.UnixMilli(job.LockUntil)
	if job.LockUntil == 0 || !until.After(now) || len(job.Value) == 0 {
		return
	}
	options := work.UniqueOptions{Until: work.UntilStarted}
	if string(job.Value) != "1" {
		sum := sha256.Sum256([]byte(r.UniqueKey))
		options.Key = "gocraft-" + hex.EncodeToString(sum[:])
	}
	c.Options = append(c.Options, work.Unique(options))
	c.Lock = migrate.Until(until, now)
}
