-- worker/serve: changes which queues a registered worker serves: adds some, and takes those out of which it holds
-- nothing.
--
-- A list of a queue that the worker does not serve would be seen by no reaper, so a name stays until that list is
-- empty. The number is of the series of the worker's fetches: none that was sent before lands after this, nor this
-- after a later one.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers, KEYS[3] worker:<id>:queues, KEYS[4] queues, KEYS[5] served
-- KEYS[6..] worker:<id>:inprocess:<name> of each queue to be taken out
-- ARGV[1] worker
-- ARGV[2] number, of the same series as those of its fetches
-- ARGV[3] the last number that was acknowledged to the worker
-- ARGV[4..] names of the queues to be taken out, then of those to be added
-- RETURNS {state (ok, fenced, stale), names that stay since the worker holds jobs of them}, or {rewound, the last
--   number that Redis knows}, see survey.lua
-- FIRST WRITE HDEL (of a field that is never there)
local info, workers, mine, queues, served = unpack(KEYS, 1, 5)

if redis.call('SISMEMBER', workers, ARGV[1]) == 0 then return { 'fenced', {} } end
local before = tonumber(redis.call('HGET', info, 'n') or 0)
if tonumber(ARGV[2]) < before then return { 'stale', {} } end
if before < tonumber(ARGV[3]) then return { 'rewound', before } end
-- ASK LLEN SADD SREM TIME ZADD ZCARD
-- the lists of names are for those who look and ask, not for workers
local refusal, unlisted, unnoted = bad('SCARD', mine), bad('ZCARD', queues), bad('ZCARD', served)
if refusal then return refusal end
redis.call('HDEL', info, '')
redis.call('HSET', info, 'n', ARGV[2])

local stay, time = {}, ms(now())
for i = 4, #ARGV do
  local name, inprocess = ARGV[i], KEYS[i + 2]
  local length = inprocess and unless_refused(redis.pcall('LLEN', inprocess))
  if not inprocess then
    redis.call('SADD', mine, name)
    if not unlisted then redis.call('ZADD', queues, time, name) end
    if not unnoted then redis.call('ZADD', served, time, name) end
  elseif type(length) == 'number' and length > 0 then
    stay[#stay + 1] = name
  else
    redis.call('SREM', mine, name)
  end
end
redis.call('HSET', info, 'serves', redis.call('SCARD', mine)) -- 0: it is meant to have no names
return { 'ok', stay }
