package redistest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Grouped writes a number with commas: 1,234,567.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// WriteFigures puts figures between the two marks of a page.
func WriteFigures(t *testing.T, file, of, figures string) {
	t.Helper()
	begin, end := "<!-- "+of+" -->\n", "<!-- end of "+of+" -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	require.True(t, found && ended, "%s has no marks for the figures", file)
	require.NoError(t, os.WriteFile(file, []byte(before+begin+"\n"+figures+"\n"+end+after), 0o644))
}
