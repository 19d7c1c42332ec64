package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// good is a script without a fault; each case of TestFaults puts one in.
const good = `-- move: moves ids from one list to another.
--
-- Prose may name KEYS[9] and ARGV[9]; it documents nothing.
--
-- KEYS[1] source, KEYS[2] target
-- KEYS[3..] queue:<name> of each queue
-- ARGV[1] how many
-- ARGV[2..] names
-- RETURNS how many were moved
-- FIRST WRITE LREM
local source, target = unpack(KEYS, 1, 2)
local count = tonumber(ARGV[1])
if #KEYS < 3 then return redis.error_reply('NOQUEUE for ' .. KEYS[1]) end
for i = 3, #KEYS do
  redis.call('LREM', KEYS[i], count, ARGV[i - 1])
end
redis.pcall(count > 1 and 'LPUSH' or 'RPUSH', target, 'a' .. count)
redis.call('UNLINK', source)
return count
`

func TestGoodScript(t *testing.T) {
	t.Parallel()
	assert.Empty(t, check("move.lua", good, nil))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string // what is replaced in the good script
		line     int
		message  string
	}{
		"no header": {good[:strings.Index(good, "local")], "", 1,
			`the first line must be "-- move: one line of what it does"`},
		"another name": {"-- move:", "-- copy:", 1, `the first line must be "-- move:`},
		"no description": {"move: moves ids from one list to another.", "move: ", 1,
			`the first line must be "-- move:`},
		"a long line": {"tonumber(ARGV[1])\n", "tonumber(ARGV[1]) --" + strings.Repeat("x", 87) + "\n", 12,
			"the line has 121 columns, more than 120"},
		"no RETURNS":     {"-- RETURNS how many were moved\n", "", 1, `"-- RETURNS ..."`},
		"no FIRST WRITE": {"-- FIRST WRITE LREM\n", "", 1, `"-- FIRST WRITE COMMAND"`},
		"a write at full": {"FIRST WRITE LREM", "FIRST WRITE LPUSH", 1,
			"FIRST WRITE names LPUSH, which Redis refuses at full memory"},
		"a write never called": {"FIRST WRITE LREM", "FIRST WRITE ZREM", 1,
			"FIRST WRITE names ZREM, which the script never calls"},
		"a write not said": {"FIRST WRITE LREM", "FIRST WRITE none", 1,
			"FIRST WRITE says none, and the script calls UNLINK"},
		"an undocumented KEYS": {"-- KEYS[3..] queue:<name> of each queue\n", "", 14,
			"KEYS is indexed by a computed number and the header has no KEYS[n..]"},
		"an undocumented ARGV": {"-- ARGV[2..] names\n", "", 14,
			"ARGV is indexed by a computed number and the header has no ARGV[n..]"},
		"an unlisted KEYS": {", KEYS[2] target\n-- KEYS[3..] queue:<name> of each queue", "", 10,
			"KEYS[2] is used and not in the header"},
		"prose documents": {"-- KEYS[1] source, KEYS[2] target\n-- KEYS[3..]", "-- KEYS[3..]", 1,
			"the header lists KEYS[3..] where KEYS[1..] should follow"},
		"a gap": {"KEYS[2] target", "KEYS[3] target", 1,
			"the header lists KEYS[3] where KEYS[2] should follow"},
		"a KEYS never passed": {"tonumber(ARGV[1])", "tonumber(KEYS[3]) + tonumber(ARGV[1]) + ARGV[0]", 12,
			"ARGV[0] is used and not in the header"},
		"cjson":           {"return count\n", "return cjson.encode(count)\n", 19, "cjson turns large numbers"},
		"KEYS":            {"'UNLINK', source", "'KEYS', source", 18, "KEYS is forbidden"},
		"SCAN":            {"'UNLINK', source", "'SCAN', source", 18, "SCAN is forbidden"},
		"DEL":             {"'UNLINK', source", "'DEL', source", 18, "DEL is forbidden"},
		"DEL by pcall":    {"redis.call('UNLINK', source", "redis.pcall('DEL', source", 18, "DEL is forbidden"},
		"DEL by choice":   {"'LPUSH' or 'RPUSH'", "'DEL' or 'RPUSH'", 17, "DEL is forbidden"},
		"a key from KEYS": {"'UNLINK', source", "'UNLINK', KEYS[1] .. ':old'", 18, "a key built from another key"},
		"a key from a name": {"return count\n", "local old = source .. ':old'\nreturn old\n", 19,
			"a key built from another key"},
		"a key at the right": {"return count\n", "return 'old:' .. target\n", 19, "a key built from another key"},
		"a key from nothing": {"'UNLINK', source", "'UNLINK', 'jobs'", 18, "a key that is not passed through KEYS"},
		"a key from an ARGV": {"'UNLINK', source", "'UNLINK', 'jobs' .. ARGV[2]", 18,
			"a key that is not passed through KEYS"},
		"a shebang": {"-- move: moves", "#!lua\n-- move: moves", 1, "a shebang"},
		"no Lua":    {"return count\n", "return count +\n", 1, "not Lua 5.1"},
		"too long": {"return count\n", strings.Repeat("count = count + 1\n", maxCodeLines) +
			"return count\n", 1, "lines of code, more than 125"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, good, c.old)
			found := check("move.lua", strings.Replace(good, c.old, c.new, 1), nil)
			assert.True(t, reports(found, c.line, c.message), "no %q at line %d in %v", c.message, c.line, found)
		})
	}
}

func reports(found findings, line int, message string) bool {
	for _, f := range found {
		if f.line == line && strings.Contains(f.message, message) {
			return true
		}
	}
	return false
}

// TestDocumentedButUnused has a script of its own: where an index is computed, any may be meant.
func TestDocumentedButUnused(t *testing.T) {
	t.Parallel()
	script := "-- one: takes one.\n-- KEYS[1] list, KEYS[2] other\n-- RETURNS it\n-- FIRST WRITE LPOP\nreturn " +
		"redis.call('LPOP', KEYS[1])\n"
	assert.Equal(t, findings{{1, "KEYS[2] is in the header and not used"}}, check("one.lua", script, nil))
}

func TestEnqueueMayBeRefused(t *testing.T) {
	t.Parallel()
	script := "-- job/enqueue: stores one.\n-- KEYS[1] list\n-- RETURNS its length\n-- FIRST WRITE LPUSH%s\nreturn " +
		"redis.call('LPUSH', KEYS[1], 'a')\n"
	assert.Empty(t, check("job/enqueue.lua", strings.Replace(script, "%s", ", refused at full memory", 1), nil))
	assert.Equal(t, findings{{1, "FIRST WRITE of job/enqueue must say that a full Redis refuses it"}},
		check("job/enqueue.lua", strings.Replace(script, "%s", "", 1), nil))
}

func TestAScriptMayOnlyRead(t *testing.T) {
	t.Parallel()
	script := "-- look: looks at one.\n-- KEYS[1] list\n-- RETURNS it\n-- FIRST WRITE none\nreturn " +
		"redis.call('LINDEX', KEYS[1], 0)\n"
	assert.Empty(t, check("look.lua", script, nil))
}

func TestPreludeHasNoParameters(t *testing.T) {
	t.Parallel()
	line := "local function now() return redis.call('TIME') end\n"
	assert.Empty(t, check("prelude.lua", "-- prelude: what scripts share.\n"+strings.Repeat(line, maxCodeLines+1), nil))
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.Equal(t, 1, run(dir), "a directory without scripts is the wrong directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "move.lua"), []byte(good), 0o600))
	assert.Equal(t, 0, run(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.lua"), []byte(good), 0o600))
	assert.Equal(t, 1, run(dir), "the title of other.lua names another script")
}

func TestRunLooksIntoDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "part"), 0o700))
	script := filepath.Join(dir, "part", "move.lua")
	require.NoError(t, os.WriteFile(script, []byte(strings.Replace(good, "-- move:", "-- part/move:", 1)), 0o600))
	assert.Equal(t, 0, run(dir))
	require.NoError(t, os.WriteFile(script, []byte(good), 0o600))
	assert.Equal(t, 1, run(dir), "the title does not name the directory")
}
