-- worker/forget: removes a worker, dead or stopping, once all its in-process lists are empty.
--
-- Of one with many queues the caller gives some at a time: those whose lists are empty are taken out, as long as it is
-- not registered, so that no fetch can land any more. The call that gives all that are left removes the worker.
--
-- What becomes known of it by the text stands for a while in the list of workers that have stopped. Only the call that
-- removes the worker from its set writes there: not one that is sent again, and one of many reapers. A list that is
-- broken costs that note, and nothing else.
--
-- KEYS[1] workers, KEYS[2] dead, KEYS[3] worker:<id>, KEYS[4] worker:<id>:queues, KEYS[5] worker:<id>:info,
-- KEYS[6] worker:<id>:running, KEYS[7] lease, KEYS[8] deputy, KEYS[9] deadlines, KEYS[10] taken:<id>,
-- KEYS[11] stopped, KEYS[12] stopped:info
-- KEYS[13..] worker:<id>:inprocess:<name> of each queue that it serves
-- ARGV[1] worker
-- ARGV[2] text for the list of the stopped; empty for none
-- ARGV[3] for how many ms the list keeps it, ARGV[4] how many it keeps at the most
-- ARGV[5..] the names of the queues whose lists are given, at most 500
-- RETURNS {state (gone, holding, part, changed), names of the queues it still holds jobs of}
-- FIRST WRITE SREM
local workers, dead, heart, mine, info, running, lease, deputy, deadlines, taken, stopped, texts = unpack(KEYS, 1, 12)
local worker, text, kept, most = unpack(ARGV, 1, 4)

-- ASK GET HDEL HEXISTS HLEN HMGET HSET LLEN PEXPIRE TIME UNLINK ZADD ZCARD ZRANGE ZREM
local held = {}
for i = 13, #KEYS do
  local length = unless_refused(redis.pcall('LLEN', KEYS[i]))
  if type(length) == 'number' and length > 0 then held[#held + 1] = ARGV[i - 8] end
end
if #held > 0 then return { 'holding', held } end
local serves = redis.call('SCARD', mine) -- 0 when this was sent before
if serves > #ARGV - 4 and #ARGV > 4 and redis.call('SISMEMBER', workers, worker) == 0 then
  redis.call('SREM', mine, unpack(ARGV, 5))
  return { 'part', {} }
end
if serves > 0 and serves ~= #ARGV - 4 then return { 'changed', {} } end
for i = 5, serves > 0 and #ARGV or 0 do
  if redis.call('SISMEMBER', mine, ARGV[i]) == 0 then return { 'changed', {} } end
end

local left = redis.call('SREM', workers, worker)
redis.pcall('ZREM', deadlines, worker)
-- nil: it never fetched, or was forgotten before and has named itself dead since
local known = redis.pcall('HMGET', info, 'n', 'alive')
local last, alive = known[1], known[2]
-- see release.lua; it may have held nothing
local died = redis.call('SREM', dead, worker)
if died == 1 and type(last) == 'string' and not bad('HLEN', taken) then
  redis.call('HSET', taken, 'n', last)
  redis.call('PEXPIRE', taken, 3600000)
end
redis.call('UNLINK', heart, mine, info, running)
for _, place in ipairs({ lease, deputy }) do
  if redis.pcall('GET', place) == worker then redis.call('UNLINK', place) end
end
if text == '' or left + died == 0 or bad('ZCARD', stopped) or bad('HLEN', texts) then return { 'gone', {} } end

-- one that was forgotten before and has named itself dead since: the first text knew more
if redis.call('HEXISTS', texts, worker) == 1 then return { 'gone', {} } end
-- whoever made the text did not know of that yet; where it is told later, declare_alive.lua does this
if alive and text:sub(1, 6) == 'died {' then text = 'fenced' .. text:sub(5) end
local time = now()
if redis.call('ZCARD', stopped) == 0 then redis.call('UNLINK', texts) end -- of a list that was lost
redis.call('ZADD', stopped, ms(time), worker)
redis.call('HSET', texts, worker, text)
-- a worker more, a worker less: so many at once are too old only after a pause
local old = redis.call('ZRANGE', stopped, '-inf', ms(time - kept), 'BYSCORE', 'LIMIT', 0, 100)
if #old == 0 then old = redis.call('ZRANGE', stopped, 0, -most - 1) end
if #old > 0 then
  redis.call('ZREM', stopped, unpack(old))
  redis.call('HDEL', texts, unpack(old))
end
redis.call('PEXPIRE', stopped, kept)
redis.call('PEXPIRE', texts, kept)
return { 'gone', {} }
