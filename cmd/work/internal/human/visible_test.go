package human_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/human"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"plain", `it said "no" \ maybe`, `it said "no" \ maybe`},
		{"lines", "one\ntwo\t3", `one\ntwo\t3`},
		{"an escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"not UTF-8", "bad\xff", `bad\xff`},
		{"the sign for it", "\ufffd", "\ufffd"},
		{"a change of direction", "\u202egnp.exe", `\u202egnp.exe`},
		{"other scripts", "żółw 漢字", "żółw 漢字"},
		{"a quote", "don't '", "don't '"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, human.Visible(row.text))
		})
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, path, want string }{
		{"plain", "a/b.txt", "a/b.txt"},
		{"a space", "with space", "with space"},
		{"other scripts", "żółw/漢字", "żółw/漢字"},
		{"a space at the end", "end ", `"end "`},
		{"a newline", "new\nline", `"new\nline"`},
		{"an escape sequence", "\x1b[31m", `"\x1b[31m"`},
		{"not UTF-8", "bad\xff", `"bad\xff"`},
		{"a change of direction", "\u202egnp.exe", `"\u202egnp.exe"`},
		{"a quote, so that quoted names are told from it", `"a"`, `"\"a\""`},
		{"nothing", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, human.Printable(row.path))
		})
	}
}
