package work

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// What a turn does not come to is for the next one: otherwise nothing that lies behind its first parts would ever go.
func TestAWalkGoesOnWhereTheLastTurnLeftIt(t *testing.T) {
	t.Parallel()
	var seen []string
	failing := "4"
	part := func(_ context.Context, cursor string) (string, error) {
		seen = append(seen, cursor)
		if cursor == failing {
			failing = ""
			return cursor, errors.New("no luck")
		}
		return map[string]string{"": "1", "0": "1", "1": "2", "2": "3", "3": "4", "4": "0"}[cursor], nil
	}
	cursor := ""
	for range 4 {
		_ = walk(t.Context(), &cursor, 3, part) // one turn fails
	}
	assert.Equal(t, []string{"", "1", "2", "3", "4", "4", "0", "1", "2"}, seen)
}

func TestLanesBehindTheFirstPartsGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const lanes = 4000
		for n := range 4 {
			var fields []any
			for i := range lanes / 4 {
				fields = append(fields, fmt.Sprint("new", n, "-", i), fmt.Sprint("1 ", time.Now().UnixMilli()),
					fmt.Sprint("old", n, "-", i), "1 1000")
			}
			k.do("HSET", "lanes", fields...)
		}
		cursor, turns := "", 0
		for cursor != "0" && turns < 100 {
			turns++
			require.NoError(t, walk(k.ctx(), &cursor, 2, func(ctx context.Context, cursor string) (string, error) {
				return k.enq.core.store.RetireLanes(ctx, cursor, time.Hour)
			}))
		}
		assert.Equal(t, lanes, k.number("HLEN", "lanes"), "after %d turns", turns)
	})
}
