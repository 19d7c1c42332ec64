package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBoundsAreOfTheNamedPackageOrOfAllOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bounds.txt")
	require.NoError(t, os.WriteFile(path, []byte("# of today\nroot 3 100 - 5 2\n* 2 - - - 1 # all others\n"), 0o600))
	b, err := readBounds(path)
	require.NoError(t, err)
	assert.Empty(t, b.complaints("root", figures{3, 100, 9999, 5, 2}))
	assert.Len(t, b.complaints("root", figures{4, 101, 9999, 6, 3}), 4)
	assert.Empty(t, b.complaints("other", figures{2, 9999, 9999, 9999, 1}))
	assert.Equal(t, []string{"other has 2 files in one circle, more than 1: let files use each other in one " +
		"direction, or give a part a package of its own"}, b.complaints("other", figures{2, 1, 1, 1, 2}))
	assert.Empty(t, bounds(nil).complaints("other", figures{9, 9, 9, 9, 9}))
}

func TestBoundsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"root 1 2 3": "bounds.txt:1", "root 1 2 x 4 5": `"x" is no number`} {
		path := filepath.Join(t.TempDir(), "bounds.txt")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := readBounds(path)
		require.ErrorContains(t, err, want)
	}
	_, err := readBounds(filepath.Join(t.TempDir(), "nothing.txt"))
	require.Error(t, err)
	none, err := readBounds("")
	require.NoError(t, err)
	assert.Empty(t, none)
}
