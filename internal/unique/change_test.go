package unique_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/unique"
)

var _ intake.Change = (*unique.Change)(nil)

func TestAmendment(t *testing.T) {
	t.Parallel()
	const waits = `{"jid":"x","name":"a","args":[1],"t":1,"at":5000,"later":{"args":0}}`
	for name, row := range map[string]struct {
		change unique.Change
		want   string
		place  rdb.Place
	}{
		"nothing":          {unique.Change{}, waits, ""},
		"args":             {unique.Change{Args: []byte(`[2]`)}, `{"jid":"x","name":"a","args":[2],"t":1,"at":5000,"later":{"args":0}}`, ""},
		"postponed":        {unique.Change{Postpone: true, At: 6000, Place: rdb.In, When: 60}, `{"jid":"x","name":"a","args":[1],"t":1,"at":6000,"later":{"args":0}}`, rdb.In},
		"not made earlier": {unique.Change{Postpone: true, At: 5000, Place: rdb.In, When: 60}, waits, ""},
		"both": {unique.Change{Args: []byte(`[2]`), Postpone: true, At: 6000, Place: rdb.At, When: 6000},
			`{"jid":"x","name":"a","args":[2],"t":1,"at":6000,"later":{"args":0}}`, rdb.At},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := row.change.Amendment("x", []byte(waits))
			require.NoError(t, err)
			assert.Equal(t, rdb.Amendment{ID: "x", Read: []byte(waits), New: []byte(row.want), Place: row.place,
				When: a.When}, a)
			assert.Equal(t, row.place != "", a.When == row.change.When && a.When > 0)
		})
	}
}

func TestWhatCannotBeAmended(t *testing.T) {
	t.Parallel()
	change := unique.Change{Args: []byte(`[2]`)}
	_, err := change.Amendment("x", []byte("no JSON"))
	require.Error(t, err)
	_, err = change.Amendment("x", []byte(`{"jid":"x","name":"a","args":[null],"t":1,"objects":{"0":"ab"}}`))
	var refused *invalid.Error
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, `job "x" is stored with args that are objects, so they cannot be replaced: `+
		`give ReplaceArgs at every enqueue of this kind`)
	_, err = (&unique.Change{}).
		Amendment("x", []byte(`{"jid":"x","name":"a","args":[null],"t":1,"objects":{"0":"ab"}}`))
	assert.NoError(t, err, "its args stay")
}
