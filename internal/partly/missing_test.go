package partly_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/internal/redisconn"
)

func TestWhatIsMissingIsSaidToAnOperator(t *testing.T) {
	t.Parallel()
	refused := &redisconn.DialError{Addr: "b:6379", Err: errors.New("refused")}
	for name, c := range map[string]struct {
		why  map[int]error
		want string
	}{
		"one": {map[int]error{1: fmt.Errorf("the jobs cannot be counted: %w", refused)},
			"only 3 of 4 partitions have answered. What partition 1 holds is missing here: its jobs wait until it is " +
				"back, and jobs of other partitions go on. Partition 1: cannot connect to Redis at b:6379: refused"},
		"several": {map[int]error{3: errors.New("it loads"), 0: refused, 2: errors.New("it is full")},
			"only 1 of 4 partitions have answered. What partitions 0, 2 and 3 hold is missing here: their jobs wait " +
				"until they are back, and jobs of other partitions go on. Partition 0: cannot connect to Redis at " +
				"b:6379: refused; Partition 2: it is full; Partition 3: it loads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, missing := partly.Collect(t.Context())
			assert.NoError(t, missing.Err())
			assert.True(t, partly.Whole(ctx))
			assert.True(t, partly.Note(ctx, 4, c.why))
			assert.EqualError(t, missing.Err(), c.want)
			assert.False(t, partly.Whole(ctx))
		})
	}
}

func TestNobodyWantsToKnow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	assert.False(t, partly.Note(ctx, 2, map[int]error{1: errors.New("away")}))
	assert.True(t, partly.Whole(ctx), "who does not collect gets errors")
}
