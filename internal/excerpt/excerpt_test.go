package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/excerpt"
)

func TestStartMakesValidUTF8OfAtMostSoManyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "text")) + rapid.StringN(0, 40, -1).Draw(t, "more")
		most := rapid.IntRange(3, 120).Draw(t, "most")
		got := excerpt.Start(text, most)
		valid := strings.ToValidUTF8(text, "\uFFFD")
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), most)
		if len(valid) <= most {
			require.Equal(t, valid, got)
			return
		}
		require.True(t, strings.HasPrefix(valid, strings.TrimSuffix(got, "…")))
		require.True(t, strings.HasSuffix(got, "…"))
		require.Greater(t, len(got), most-utf8.UTFMax, "no more is cut than must be")
	})
}

func explode() { panic("oh") }

// The deferred function that recovers sees the frames in which the panic happened, and keeps no more than is wanted.
func TestPanicStackIsThatOfThePanic(t *testing.T) {
	t.Parallel()
	var stack string
	func() {
		defer func() {
			assert.NotNil(t, recover())
			stack = excerpt.PanicStack()
		}()
		explode()
	}()
	assert.Contains(t, stack, "excerpt_test.explode")
}

// A stack is bounded, however long the names of its frames are.
func TestCutStackBoundsIt(t *testing.T) {
	t.Parallel()
	cut := excerpt.CutStack(strings.Repeat("x", excerpt.Stack+1))
	assert.Len(t, cut, excerpt.Stack)
	assert.Contains(t, cut, "bytes)", "it says that it was cut")
}
