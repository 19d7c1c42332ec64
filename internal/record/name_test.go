package record_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

// records are what is stored, by id.
type records map[string]string

var errDown = errors.New("no connection")

func (r records) Record(_ context.Context, id string) ([]byte, error) {
	switch text, there := r[id]; {
	case id == "down":
		return nil, errDown
	case there:
		return []byte(text), nil
	}
	return nil, nil
}

func TestTheNameInARecord(t *testing.T) {
	t.Parallel()
	stored := records{
		"good": `{"jid":"1","name":"a","args":[],"t":0}`, "bad args": `{"name":"a","args":7}`,
		"none": `{"args":[]}`, "a number": `{"name":7,"args":[]}`, "no JSON": `{"name":"a"`,
	}
	for id, want := range map[string]struct {
		name     string
		readable bool
	}{
		"good": {"a", true}, "bad args": {"a", true}, "none": {"", false}, "a number": {"", false},
		"no JSON": {"", false}, "absent": {"", true},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			name, readable, err := record.QueueOf(t.Context(), stored, id)
			require.NoError(t, err)
			assert.Equal(t, want.name, name)
			assert.Equal(t, want.readable, readable)
			assert.Equal(t, want.name, record.NameIn([]byte(stored[id])))
		})
	}
	_, _, err := record.QueueOf(t.Context(), stored, "down")
	assert.ErrorIs(t, err, errDown)
}
