package visible_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/visible"
)

func TestWhatIsObeyedOrHiddenBecomesVisible(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"plain":                 {"a b ~", "a b ~"},
		"letters":               {"größe 日本語 🙂", "größe 日本語 🙂"},
		"controls":              {"a\x1b[31m\n\x00", `a\x1b[31m\n\x00`},
		"C1 controls":           {"a\u009bb", `a\u009bb`},
		"a turned direction":    {"exe.\u202egpj", `exe.\u202egpj`},
		"isolates":              {"\u2066a\u2069", `\u2066a\u2069`},
		"nothing between":       {"a\u200bb\ufeff\u00ad", `a\u200bb\ufeff\u00ad`},
		"separators":            {"a\u2028b\u00a0c", `a\u2028b\u00a0c`},
		"broken UTF-8":          {"a\xff\xc3", `a\xff\xc3`},
		"the replacement":       {"\ufffd", "\ufffd"},
		"escapes that are text": {`\n`, `\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, visible.Text(row.text))
		})
	}
	assert.Equal(t, "a\n\tb\\u202e", visible.Except("a\n\tb\u202e", "\n\t"))
}
