package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

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
