package work

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/intake"
)

func TestEnqueueErrorCountsItsJobs(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for want, e := range map[string]EnqueueError{
		"2 of 3 jobs are stored, 1 is unknown (a reply was lost): cause": {Stored: []int{0, 2},
			Unknown: []int{1}},
		"1 of 4 jobs is stored, 1 is not, 2 are unknown (a reply was lost): cause": {Stored: []int{0},
			NotStored: []int{1}, Unknown: []int{2, 3}},
		"0 of 2 jobs are stored, 2 are unknown (a reply was lost): cause": {Unknown: []int{0, 1}},
		"1 of 3 jobs is stored, 2 are not: cause": {Stored: []int{0},
			NotStored: []int{1, 2}},
		"none of 2 jobs is stored: cause":                                          {NotStored: []int{0, 1}},
		"the job is not stored: cause":                                             {NotStored: []int{0}},
		"it is not known whether the job is stored (a reply was lost): cause":      {Unknown: []int{0}},
		`job "a" is not stored: cause`:                                             {NotStored: []int{0}, job: "a"},
		`it is not known whether job "a" is stored (a reply was lost): cause`:      {Unknown: []int{0}, job: "a"},
		`it is not known whether job "\xff\n" is stored (a reply was lost): cause`: {Unknown: []int{0}, job: "\xff\n"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			e.Err = cause
			assert.EqualError(t, &e, want)
			assert.ErrorIs(t, &e, cause)
		})
	}
}

func TestLostIDsAreBounded(t *testing.T) {
	t.Parallel()
	told := dataLost(intake.Loss{IDs: make([]string, event.MaxLostIDs+7), Flows: make([]string, event.MaxLostIDs+8)})
	assert.Len(t, told.Enqueued, event.MaxLostIDs)
	assert.Equal(t, 7, told.EnqueuedMore)
	assert.Len(t, told.Flows, event.MaxLostIDs)
	assert.Equal(t, 8, told.FlowsMore)
}

// compileAlone compiles a handler for a pool without a context, and runs it with these args.
func compileAlone(t testing.TB, fn any) (h *handler.Handler, run func(args string) error) {
	t.Helper()
	h, call, err := CompileAlone(fn)
	require.NoError(t, err)
	return h, func(args string) error { return call(t.Context(), args) }
}

func TestArgumentErrorQuotesLittleAndValidText(t *testing.T) {
	t.Parallel()
	for name, arg := range map[string]string{
		"long":              `"` + strings.Repeat("x", 5000) + `"`,
		"long, many bytes":  `"` + strings.Repeat("é世", 100) + `"`,
		"broken":            "\"\xff\xfe\"",
		"broken throughout": `"` + strings.Repeat("\xff.", 98) + `"`,
		"exactly the limit": `"` + strings.Repeat("x", 198) + `"`,
		"a cut character":   `"` + strings.Repeat("x", 198) + "é\"",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, run := compileAlone(t, func(int) error { return nil })
			var wrong *ArgumentError
			require.ErrorAs(t, run("["+arg+"]"), &wrong)
			assert.True(t, wrong.uncalled)
			assert.True(t, utf8.ValidString(wrong.Excerpt()))
			assert.LessOrEqual(t, len(wrong.Excerpt()), 200)
			assert.Equal(t, len(strings.ToValidUTF8(arg, "\uFFFD")) > 200, strings.HasSuffix(wrong.Excerpt(), "…"),
				wrong.Excerpt())
			assert.True(t, strings.HasPrefix(arg, wrong.Excerpt()[:1]))
		})
	}
}

// A handler that enqueues and passes on the refusal of that other job has itself been called.
func TestArgumentErrorOfAnotherJob(t *testing.T) {
	t.Parallel()
	other, _ := compileAlone(t, func(int64) error { return nil })
	_, run := compileAlone(t, func() error {
		return fmt.Errorf("enqueue: %w", argumentError(other.CheckArgs([]byte(`["x"]`), recovered), false))
	})
	var refusal *ArgumentError
	require.ErrorAs(t, run(`[]`), &refusal)
	assert.False(t, refusal.uncalled)
}
