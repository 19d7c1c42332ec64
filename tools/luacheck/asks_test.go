package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/gopher-lua/parse"
)

// shared stands for the prelude.
const shared = `-- prelude: what scripts share.
local function bad(length, key)
  local answer = redis.pcall(length, key)
  if type(answer) ~= 'number' then return answer end
end

local function note(key)
  redis.call('HSET', key, 'a', redis.call('GET', key))
end

local function noted(key)
  note(key)
end
`

// asking is a script that asks, without a fault; each case of TestFaultsOfAsking puts one in.
const asking = `-- give: gives a job to another list.
-- KEYS[1] from, KEYS[2] to, KEYS[3] notes
-- RETURNS 1
-- FIRST WRITE LREM
local from, to, notes = unpack(KEYS)
local refusal = bad('LLEN', from) or bad('LLEN', to)
if refusal then return refusal end
if redis.call('EXISTS', from) == 0 then return 0 end
local front = to == notes and redis.call('LINDEX', to, 0)
local function put(list)
  redis.call('SADD', list, 'a')
end
if front then
  -- ASK LINDEX ZADD
end
-- ASK HSET LPUSH SADD GET
redis.call('LREM', from, 1, 'a')
redis.call('LPUSH', to, redis.call('LLEN', to))
if front then redis.call('ZADD', notes, 1, redis.call('LINDEX', to, 0)) end
put(to)
noted(notes)
return 1
`

func checkAsking(t *testing.T, script string) findings {
	t.Helper()
	chunk, err := parse.Parse(strings.NewReader(shared), "prelude")
	require.NoError(t, err)
	return check("give.lua", script, named(chunk))
}

func TestAScriptMayAsk(t *testing.T) {
	t.Parallel()
	assert.Empty(t, checkAsking(t, asking))
}

func TestFaultsOfAsking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		line     int
		message  string
	}{
		"never called under a condition": {"HSET LPUSH", "front: HSET RPUSH LPUSH", 16,
			"asks for RPUSH, which the script does not call"},
		"never called": {"HSET LPUSH", "HSET RPUSH LPUSH",
			16, "asks for RPUSH, which the script does not call"},
		"called before alone": {"HSET LPUSH", "HSET EXISTS LPUSH",
			16, "asks for EXISTS, which the script does not call"},
		"known by bad": {"HSET LPUSH", "HSET LLEN LPUSH",
			16, "asks for LLEN, which the script has called before"},
		"known by a call": {"== 0 then", "== redis.call('GET', to) then",
			16, "asks for GET, which the script has called"},
		"known in a branch": {"if front then\n", "redis.call('LINDEX', to, 0)\nif front then\n",
			15, "asks for LINDEX, which"},
		"twice": {"HSET LPUSH", "HSET LPUSH HSET",
			16, "asks for HSET twice"},
		"nothing": {"-- ASK HSET LPUSH SADD GET", "-- ASK",
			16, "asks for no command"},
		"behind a write": {"-- ASK HSET", "redis.call('SADD', to, 'b')\n-- ASK HSET",
			17, "has called SADD before it asks"},
		"behind a write of ours": {"-- ASK HSET", "put(to)\n-- ASK HSET",
			17, "has called SADD before it asks"},
		"in a function": {"  redis.call('SADD'", "  -- ASK SADD\n  redis.call('SADD'",
			11, "stands in a function"},
		"of a function not used": {"put(to)\n", "",
			16, "asks for SADD, which the script does not call"},
		"of the prelude, unused": {"noted(notes)\n", "",
			16, "asks for GET, which the script does not call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, asking, c.old)
			found := checkAsking(t, strings.Replace(asking, c.old, c.new, 1))
			assert.True(t, reports(found, c.line, c.message), "no %q at line %d in %v", c.message, c.line, found)
		})
	}
}

func TestThePreludeAsksNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, check("prelude.lua", shared, nil))
	found := check("prelude.lua", strings.Replace(shared, "  note(key)", "  -- ASK HSET\n  note(key)", 1), nil)
	assert.True(t, reports(found, 12, "which is not called *_denied"), "%v", found)
	denying := strings.Replace(shared, "local function note(key)", "local function note_denied(key)\n  -- ASK HSET", 1)
	assert.Empty(t, check("prelude.lua", denying, nil))
}
