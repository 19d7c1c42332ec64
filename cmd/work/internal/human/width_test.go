package human_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/human"
)

func TestANameIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "a/b", 3, "a/b"},
		{"too long", "dir/file.go", 8, "dir…e.go"},
		{"as much of both", "create_watch_for_user", 9, "crea…user"},
		{"wide characters are not cut in half", "漢字漢語", 6, "漢…語"},
		{"one column", "abc", 1, "…"},
		{"two", "abc", 2, "…c"},
		{"letters with marks stay whole", "xxe\u0301", 2, "…e\u0301"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, human.CutMiddle(row.text, row.width))
		})
	}
}

func TestFoldBreaksAtSpaces(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"one two", "three", "a-word-that-is-too-long", "x"},
		human.Wrap("one two three a-word-that-is-too-long x", 8))
	assert.Equal(t, []string{"one two three"}, human.Wrap("one two three", 0))
}

func TestCurtailKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "it is", 5, "it is"},
		{"too long", "the disk is full", 10, "the disk…"},
		{"wide characters are not cut in half", "漢字漢字", 6, "漢字…"},
		{"one column", "abc", 1, "…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, human.CutEnd(row.text, row.width))
		})
	}
}
