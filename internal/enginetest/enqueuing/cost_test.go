package enqueuing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// mostAllocations is what one enqueue may cost. Of the nine or so it has, most are what the caller gets or sends (its
// argument, the id, the record, the answer), the others a call and its connection.
const mostAllocations = 10

// TestAnEnqueueAllocatesLittle is not parallel: others would be counted too.
func TestAnEnqueueAllocatesLittle(t *testing.T) {
	redistest.SkipUnderRace(t, "the race detector allocates, too")
	s := redistest.Real(t)
	enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(redistest.Namespace(t)))
	require.NoError(t, err)
	defer enq.Close()                                  //lint:ignore errcheck nothing is under way
	request, cancel := context.WithCancel(t.Context()) // as each request of a web server has one
	defer cancel()
	for of, ctx := range map[string]context.Context{"none": context.Background(), "a request": request} {
		enqueue := func() {
			_, err := enq.Enqueue(ctx, "create_watch", 1234567890123456, "a text")
			require.NoError(t, err)
		}
		enqueue() // dials, and asks for the layout
		assert.LessOrEqual(t, testing.AllocsPerRun(500, enqueue), float64(mostAllocations), "with the ctx of %s", of)
	}
}
