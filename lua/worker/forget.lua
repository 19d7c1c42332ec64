-- worker/forget: removes a worker, dead or stopping, once all its in-process lists are empty.
--
-- Of one with many queues the caller gives some at a time: those whose lists are empty are taken out, as long as it is
-- not registered, so that no fetch can land any more. The call that gives all that are left removes the worker.
--
-- KEYS[1] workers, KEYS[2] dead, KEYS[3] worker:<id>, KEYS[4] worker:<id>:queues, KEYS[5] worker:<id>:info,
-- KEYS[6] worker:<id>:running, KEYS[7] lease, KEYS[8] deputy, KEYS[9] deadlines, KEYS[10] taken:<id>
-- KEYS[11..] worker:<id>:inprocess:<name> of each queue that it serves
-- ARGV[1] worker
-- ARGV[2..] the names of the queues whose lists are given, at most 500
-- RETURNS {state (gone, holding, part, changed), names of the queues it still holds jobs of}
-- FIRST WRITE SREM
local workers, dead, heart, mine, info, running, lease, deputy, deadlines, taken = unpack(KEYS, 1, 10)

local held = {}
for i = 11, #KEYS do
  local length = redis.pcall('LLEN', KEYS[i])
  if type(length) == 'number' and length > 0 then held[#held + 1] = ARGV[i - 9] end
end
if #held > 0 then return { 'holding', held } end
local known = redis.call('SCARD', mine) -- 0 when this was sent before
if known > #ARGV - 1 and #ARGV > 1 and redis.call('SISMEMBER', workers, ARGV[1]) == 0 then
  redis.call('SREM', mine, unpack(ARGV, 2))
  return { 'part', {} }
end
if known > 0 and known ~= #ARGV - 1 then return { 'changed', {} } end
for i = 2, known > 0 and #ARGV or 0 do
  if redis.call('SISMEMBER', mine, ARGV[i]) == 0 then return { 'changed', {} } end
end

redis.call('SREM', workers, ARGV[1])
redis.pcall('ZREM', deadlines, ARGV[1])
-- nil: it never fetched, or was forgotten before and has named itself dead since
local last = redis.pcall('HGET', info, 'n')
-- see release.lua; it may have held nothing
if redis.call('SREM', dead, ARGV[1]) == 1 and type(last) == 'string' and not bad('HLEN', taken) then
  redis.call('HSET', taken, 'n', last)
  redis.call('PEXPIRE', taken, 3600000)
end
redis.call('UNLINK', heart, mine, info, running)
for _, place in ipairs({ lease, deputy }) do
  if redis.pcall('GET', place) == ARGV[1] then redis.call('UNLINK', place) end
end
return { 'gone', {} }
