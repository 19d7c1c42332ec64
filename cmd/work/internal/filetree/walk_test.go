package filetree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

func TestWalkFindsEveryOddNameOnce(t *testing.T) {
	t.Parallel()
	dir := clitest.OddTree(t)
	found, err := List(context.Background(), dir, clitest.KeepAll)
	require.NoError(t, err)
	got := map[string]int64{}
	for _, f := range found.Files {
		assert.NotContains(t, got, f.Path)
		got[f.Path] = f.Size
	}
	want := map[string]int64{}
	for name, text := range clitest.OddFiles {
		want[name] = int64(len(text))
	}
	assert.Equal(t, want, got)
	assert.Equal(t, clitest.OddLinks, found.Links, "links are counted, not followed")
}

func TestBothWalksFindTheSame(t *testing.T) {
	t.Parallel()
	dir := clitest.OddTree(t)
	found, err := List(context.Background(), dir, clitest.KeepAll)
	require.NoError(t, err)
	plain := NewPlainWalk(dir, clitest.KeepAll)
	require.NoError(t, plain.Run(context.Background()))
	require.Len(t, plain.Found, len(found.Files))
	for _, f := range found.Files {
		assert.Contains(t, plain.Found, f.Path)
	}
}

func TestWalkSkips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clitest.Write(t, dir, "keep", "")
	clitest.Write(t, dir, "skip", "")
	bySkip := func(info fs.FileInfo) bool { return info.Name() == "skip" }
	found, err := List(context.Background(), dir, bySkip)
	require.NoError(t, err)
	require.Len(t, found.Files, 1)
	assert.Equal(t, "keep", found.Files[0].Path)
	assert.Equal(t, 1, found.Own)
	plain := NewPlainWalk(dir, bySkip)
	require.NoError(t, plain.Run(context.Background()))
	assert.NotContains(t, plain.Found, "skip")
}

func TestWalkNotesADirectoryThatItMayNotRead(t *testing.T) {
	t.Parallel()
	clitest.SkipAsRoot(t)
	dir := t.TempDir()
	clitest.Write(t, dir, "closed/secret", "")
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Chmod(closed, 0))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(closed, 0o755)) })
	found, err := List(context.Background(), dir, clitest.KeepAll)
	require.NoError(t, err)
	assert.Equal(t, []closedDir{{Path: "closed", Why: "permission denied"}}, found.Closed)
}

func TestWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(interrupt.Err)
	_, err := List(ctx, clitest.OddTree(t), clitest.KeepAll)
	assert.ErrorIs(t, err, interrupt.Err)
	assert.ErrorIs(t, NewPlainWalk(clitest.OddTree(t), clitest.KeepAll).Run(ctx), interrupt.Err)
}

func TestOpenRegularRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := clitest.OddTree(t)
	for _, row := range []struct{ name, problem string }{
		{"link", problemReplace},
		{"deep", problemReplace},
		{"plain.txt/below", problemReplace},
		{"missing", problemGone},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := OpenRegular(filepath.Join(dir, row.name))
			require.Error(t, err)
			problem, lasting := ProblemOf(err)
			assert.Equal(t, row.problem, problem)
			assert.True(t, lasting)
		})
	}
}

func TestOpenRegularDoesNotWaitForTheWriterOfAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	clitest.Pipe(t, path)
	_, err := OpenRegular(path)
	assert.ErrorIs(t, err, errNotRegular)
}
