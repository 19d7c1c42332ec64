package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// oddFiles are names and contents that programs stumble over.
var oddFiles = map[string]string{
	"plain.txt":                  "one two three\nfour\n",
	"empty":                      "",
	"with space":                 "a b\n",
	" leading and trailing ":     "x\n",
	"new\nline":                  "in the name\n",
	"tab\tand\x1b[31mescape":     "red\n",
	"-rf":                        "looks like a flag\n",
	"bad \xff\xfe utf8":          "not UTF-8 in the name\n",
	"żółw-Ω-漢字":                  "wide\n",
	`quote"back\slash`:           "q\n",
	"deep/er/and/deeper/leaf":    "below\n",
	"deep/bad\xc3dir/leaf":       "below a name that is not UTF-8\n",
	"binary":                     "\x00\x01\xff\xfe\n\x80 \x81",
	".hidden":                    "hidden\n",
	"deep/\xe2\x80\xaereversed":  "would turn the line around\n",
	"a very long name " + longer: "long\n",
}

const longer = "that goes on and on and on and on and on and on and on and on and on and on and on and on and on and on"

// oddTree makes a directory with oddFiles, links in a circle, a link that leads nowhere and one to a file.
func oddTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range oddFiles {
		write(t, dir, name, text)
	}
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "deep", "circle")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "deep", "er", "up")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("plain.txt", filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nothing below"), 0o755))
	return dir
}

const oddLinks = 4

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// skipAsRoot skips a test about permissions where they are not asked.
func skipAsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything, so nothing is unreadable here")
	}
}

func keepAll(fs.FileInfo) bool { return false }
