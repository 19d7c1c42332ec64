package work

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

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
