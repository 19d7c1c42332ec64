package migrate_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/asynq"
	"github.com/265d0351/work/cmd/work/internal/migrate/gocraft"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
)

// settings are the options of what becomes of a job.
func settings(c *migrate.Coming) work.EntrySettings { return work.Entry{Options: c.Options}.Settings() }

func TestTheFormsOfGocraft(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour).UnixMilli()
	for name, row := range map[string]struct {
		raw, value string
		maxFails   int
		args       string
		retries    int // -1: those of the handler
		unique     bool
		notes      int
	}{
		"plain": {raw: record("a", "1", `{"n":12345678901234567890}`, ""),
			args: `{"n":12345678901234567890}`, retries: -1},
		"no args":       {raw: record("a", "1", `null`, ""), retries: -1},
		"empty args":    {raw: record("a", "1", `{}`, ""), args: `{}`, retries: -1},
		"failed":        {raw: record("a", "1", `{}`, `,"fails":2,"err":"x"`), args: `{}`, retries: -1, notes: 1},
		"counted on":    {raw: record("a", "1", `{}`, `,"fails":2`), maxFails: 4, args: `{}`, retries: 1},
		"out of them":   {raw: record("a", "1", `{}`, `,"fails":9`), maxFails: 4, args: `{}`, retries: 0},
		"unknown field": {raw: record("a", "1", `{}`, `,"new":1`), args: `{}`, retries: -1, notes: 1},
		"unique": {raw: record("a", "1", `{"x":1}`, `,"unique":true`),
			value: "1", args: `{"x":1}`, retries: -1, unique: true},
		"unique by key": {raw: record("a", "1", `{"x":1}`, `,"unique":true`), value: record("a", "2", `{"x":2}`, ""),
			args: `{"x":2}`, retries: -1, unique: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := gocraft.New(nil, "ns", gocraft.MaxFails{"": row.maxFails, "b": 99}).
				Convert(ledger.Job{Kind: ledger.Queued, Raw: []byte(row.raw),
					LockUntil: until, Value: []byte(row.value)}, time.Now())
			require.NoError(t, err)
			if row.args == "" {
				assert.Empty(t, c.Args)
			} else {
				assert.Equal(t, []any{json.RawMessage(row.args)}, c.Args)
			}
			assert.Equal(t, "gocraft-1", c.ID)
			s := settings(c)
			if row.retries < 0 {
				assert.Nil(t, s.Retries)
			} else if assert.NotNil(t, s.Retries) {
				assert.Equal(t, row.retries, *s.Retries)
			}
			assert.Equal(t, row.unique, s.Unique != nil)
			assert.Len(t, c.Notes, row.notes)
		})
	}
	for _, raw := range []string{``, `[]`, `{}`, `{"name":"a"}`} {
		_, err := gocraft.New(nil, "", nil).Convert(ledger.Job{Raw: []byte(raw)}, time.Now())
		require.Error(t, err, raw)
	}
}

func TestTheFormsOfAsynq(t *testing.T) {
	t.Parallel()
	basic := message(text(1, "mail"), text(3, "x"), number(5, 3), number(6, 1))
	convert := func(kind ledger.Kind, raw []byte) *migrate.Coming {
		c, err := asynq.New(nil, asynq.Options{}).Convert(ledger.Job{Kind: kind, Queue: "q", Raw: raw, Due: 1900000000},
			time.Now())
		require.NoError(t, err)
		return c
	}
	assert.Equal(t, 2, *settings(convert(ledger.Retrying, basic)).Retries)
	assert.Equal(t, time.Unix(1900000000, 0), convert(ledger.Retrying, basic).At)
	assert.Equal(t, 1, *settings(convert(ledger.Running, basic)).Retries, "the attempt that was lost counts")
	assert.True(t, convert(ledger.Running, message(text(1, "mail"), text(3, "x"))).Dead, "it was the last one")
	assert.True(t, convert(ledger.Dead, basic).Dead)
	assert.Len(t, convert(ledger.Queued, append(number(99, 1), basic...)).Notes, 1, "an unknown field")
	late := convert(ledger.Scheduled, append(number(9, 1800000000), basic...))
	assert.True(t, late.At.Before(time.Unix(1800000000, 0)), "it is never due behind its deadline")
	for _, raw := range [][]byte{nil, basic[:len(basic)-1], []byte("\x0b"), text(1, "mail")} {
		_, err := asynq.New(nil, asynq.Options{}).Convert(ledger.Job{Raw: raw}, time.Now())
		require.Error(t, err, "%q", raw)
	}
}
