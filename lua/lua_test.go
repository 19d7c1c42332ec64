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

// callSign is what stands before a bracket, where it is no definition, or behind that of pcall.
var callSign = regexp.MustCompile(`(function )?\b(?:pcall\(\b(\w+),|(\w+) *\()`)

// firstCalls is where each function is called first.
func firstCalls(code string) map[string]int {
	at := map[string]int{}
	for _, match := range callSign.FindAllStringSubmatchIndex(code, -1) {
		from, to := match[4], match[5]
		if from < 0 {
			from, to = match[6], match[7]
		}
		if _, known := at[code[from:to]]; !known && match[2] < 0 {
			at[code[from:to]] = from
		}
	}
	return at
}

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
		code := remark.ReplaceAllString(source, "")
		calls := firstCalls(code)
		for _, function := range functions {
			defined := strings.Index(code, "local function "+function.name+"(")
			at, is := calls[function.name]
			if is {
				assert.GreaterOrEqual(t, defined, 0, "%s of %s", function.name, path)
				assert.Greater(t, at, defined, "%s calls %s before it is there", path, function.name)
			}
			if defined >= 0 {
				seen[function.name]++
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
