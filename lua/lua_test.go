package lua

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var remark = regexp.MustCompile(`--.*`)

func TestAScriptHasTheFunctionsThatItUses(t *testing.T) {
	t.Parallel()
	text, err := files.ReadFile("prelude.lua")
	require.NoError(t, err)
	functions := prelude()
	require.Equal(t, strings.Count(string(text), "\nlocal function "), len(functions))

	seen := map[string]int{}
	require.NoError(t, fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "prelude.lua" {
			return err
		}
		source, err := Source(strings.TrimSuffix(path, ".lua"))
		require.NoError(t, err)
		for _, function := range functions {
			defined := strings.Index(source, "local function "+function.name+"(")
			word := regexp.MustCompile(`\b` + function.name + `\b *\(`)
			code := remark.ReplaceAllString(strings.Replace(source, "function "+function.name+"(", "function (", 1), "")
			if word.MatchString(code) {
				assert.GreaterOrEqual(t, defined, 0, "%s of %s", function.name, path)
			}
			if defined >= 0 {
				seen[function.name]++
				assert.False(t, word.MatchString(remark.ReplaceAllString(source[:defined], "")),
					"%s calls %s before it is there", path, function.name)
			}
		}
		return nil
	}))
	assert.Len(t, seen, len(functions), "what nobody uses")
}

func TestAScriptMayHaveThemWhereFewCallsCome(t *testing.T) {
	t.Parallel()
	source, err := Source("job/enqueue")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(source, "-- job/enqueue: "))
	assert.NotContains(t, source, here)
	assert.Greater(t, strings.Index(source, "local function bad"), strings.Index(source, "if length == 0 then"))
	assert.Greater(t, strings.Index(source, "local function"), strings.Index(source, "if known ~= ''"), "any of them")
}

func TestNoSuchScript(t *testing.T) {
	t.Parallel()
	_, err := Source("nothing")
	assert.ErrorContains(t, err, "lua/nothing.lua")
}
