package clitest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// OddFiles are names and contents that programs stumble over.
var OddFiles = map[string]string{
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

// OddTree makes a directory with oddFiles, links in a circle, a link that leads nowhere and one to a file.
func OddTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range OddFiles {
		Write(t, dir, name, text)
	}
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "deep", "circle")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "deep", "er", "up")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("plain.txt", filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nothing below"), 0o755))
	return dir
}

// OddLinks is how many symbolic links OddTree makes.
const OddLinks = 4

// Write writes a file below dir, with the directories on its way.
func Write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// SkipAsRoot skips a test about permissions where they are not asked.
func SkipAsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything, so nothing is unreadable here")
	}
}

// KeepAll leaves no file out of a walk.
func KeepAll(fs.FileInfo) bool { return false }

// ManyFiles makes n files of different contents.
func ManyFiles(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		Write(t, dir, fmt.Sprintf("%03d", i), strings.Repeat("word\n", i))
	}
	return dir
}
