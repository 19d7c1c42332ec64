package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWalkFindsEveryOddNameOnce(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	found, err := walk(context.Background(), dir, keepAll)
	require.NoError(t, err)
	got := map[string]int64{}
	for _, f := range found.files {
		assert.NotContains(t, got, f.path)
		got[f.path] = f.size
	}
	want := map[string]int64{}
	for name, text := range oddFiles {
		want[name] = int64(len(text))
	}
	assert.Equal(t, want, got)
	assert.Equal(t, oddLinks, found.links, "links are counted, not followed")
}

func TestBothWalksFindTheSame(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	found, err := walk(context.Background(), dir, keepAll)
	require.NoError(t, err)
	plain := newPlainWalk(dir, keepAll)
	require.NoError(t, plain.run(context.Background()))
	require.Len(t, plain.found, len(found.files))
	for _, f := range found.files {
		assert.Contains(t, plain.found, f.path)
	}
}

func TestWalkSkips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "keep", "")
	write(t, dir, "skip", "")
	bySkip := func(info fs.FileInfo) bool { return info.Name() == "skip" }
	found, err := walk(context.Background(), dir, bySkip)
	require.NoError(t, err)
	require.Len(t, found.files, 1)
	assert.Equal(t, "keep", found.files[0].path)
	assert.Equal(t, 1, found.own)
	plain := newPlainWalk(dir, bySkip)
	require.NoError(t, plain.run(context.Background()))
	assert.NotContains(t, plain.found, "skip")
}

func TestWalkNotesADirectoryThatItMayNotRead(t *testing.T) {
	t.Parallel()
	skipAsRoot(t)
	dir := t.TempDir()
	write(t, dir, "closed/secret", "")
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.Chmod(closed, 0))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(closed, 0o755)) })
	found, err := walk(context.Background(), dir, keepAll)
	require.NoError(t, err)
	assert.Equal(t, []closedDir{{path: "closed", why: "permission denied"}}, found.closed)
}

func TestWalkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInterrupted)
	_, err := walk(ctx, oddTree(t), keepAll)
	assert.ErrorIs(t, err, errInterrupted)
	assert.ErrorIs(t, newPlainWalk(oddTree(t), keepAll).run(ctx), errInterrupted)
}

func TestOpenRegularRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := oddTree(t)
	for _, row := range []struct{ name, problem string }{
		{"link", problemReplace},
		{"deep", problemReplace},
		{"plain.txt/below", problemReplace},
		{"missing", problemGone},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := openRegular(filepath.Join(dir, row.name))
			require.Error(t, err)
			problem, lasting := problemOf(err)
			assert.Equal(t, row.problem, problem)
			assert.True(t, lasting)
		})
	}
}
