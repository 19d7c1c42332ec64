package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/record"
)

func TestTheLastChildrenAreNamedAndAllAreCounted(t *testing.T) {
	t.Parallel()
	var many record.Children
	for n := range record.MaxChildren + 5 {
		many.Add(fmt.Sprint("c", n))
	}
	assert.Len(t, many.IDs, record.MaxChildren)
	assert.Equal(t, "c5", many.IDs[0])
	assert.Equal(t, record.MaxChildren+5, many.Count)

	var first *record.Children
	assert.Nil(t, first.With(record.Children{}), "a job that enqueues nothing has no more in its trail than before")
	one := first.With(record.Children{IDs: []string{"a"}, Count: 1})
	assert.Equal(t, &record.Children{IDs: []string{"a"}, Count: 1}, one)
	both := one.With(many)
	assert.Equal(t, record.MaxChildren+6, both.Count)
	assert.Equal(t, many.IDs, both.IDs)
	assert.Equal(t, []string{"a"}, one.IDs, "the earlier one stays as it was")
}

// A trail with as many children as may be, of the longest ids, is no larger than one with a few stacks.
func TestChildrenAreBoundedInATrail(t *testing.T) {
	t.Parallel()
	c := &record.Children{}
	for range 1000 {
		c.Add(strings.Repeat("x", 200))
	}
	trail := record.Trail{Children: c}
	assert.Less(t, len(trail.Encode()), 5<<10)
	assert.Equal(t, c, record.DecodeTrail(trail.Encode()).Children)
	assert.Equal(t, "{}", string(record.Trail{}.Encode()))
	long := `{"children":{"ids":["` + strings.Repeat(`a","`, 30) + `b"],"count":-7}}`
	read := record.DecodeTrail([]byte(long)).Children
	assert.Len(t, read.IDs, record.MaxChildren, "one that was written by hand must not overflow")
	assert.Equal(t, record.MaxChildren, read.Count)
}
