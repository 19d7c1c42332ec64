-- job/restore: stores what a worker still holds in a Redis that has lost its data: record, claim, place and lock of
-- each job. It counts towards the limit of its queue, if that has been declared again by now; else the limit counts it
-- when it is.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers, KEYS[3] jobs, KEYS[4] claimed, KEYS[5] trail, KEYS[6] unique,
-- KEYS[7] limits
-- KEYS[8..] worker:<id>:inprocess:<name>, running:<name> of each queue
-- ARGV[1] worker
-- ARGV[2] number of its last fetch
-- ARGV[3] how many queues
-- ARGV[4..] their names, then queue (1 is the first), id, element, number in the element, record, trail, digest of its
--   lock (empty for none) and its kind (f, m, s) of each job
-- RETURNS how many were restored; a job that Redis knows is left alone
-- FIRST WRITE HDEL (of a field that is never there)
local info, workers, jobs, claimed, trail, unique, limits = unpack(KEYS, 1, 7)
local worker, number, count = ARGV[1], ARGV[2], tonumber(ARGV[3])

local refusal = bad('HLEN', info) or bad('SCARD', workers) or bad('HLEN', jobs) or bad('HLEN', claimed)
  or bad('HLEN', trail) or bad('HLEN', unique) or bad('HLEN', limits)
for i = 8, #KEYS, 2 do refusal = refusal or bad('LLEN', KEYS[i]) or bad('SCARD', KEYS[i + 1]) end
if refusal then return refusal end
if redis.call('SISMEMBER', workers, worker) == 0 then return 0 end

redis.call('HDEL', info, '')
if tonumber(redis.call('HGET', info, 'n') or 0) < tonumber(number) then redis.call('HSET', info, 'n', number) end
local time, restored = ms(now()), 0
for i = 4 + count, #ARGV, 8 do
  local queue, id, element, n, record, news, digest, kind = tonumber(ARGV[i]), unpack(ARGV, i + 1, i + 7)
  if redis.call('HEXISTS', jobs, id) == 0 and redis.call('HEXISTS', claimed, id) == 0 then
    redis.call('LPUSH', KEYS[6 + 2 * queue], element)
    local _, most = (redis.call('HGET', limits, ARGV[3 + queue]) or ''):match('^(%d) (%d+)')
    if most then redis.call('SADD', KEYS[7 + 2 * queue], id) end
    if digest ~= '' then redis.call('HSETNX', unique, digest, id .. ' 0 ' .. kind) end
    redis.call('HSET', claimed, id, worker .. ' ' .. n .. ' ' .. time .. ' ' .. ARGV[3 + queue])
    if news ~= '' then redis.call('HSET', trail, id, news) end
    redis.call('HSET', jobs, id, record)
    restored = restored + 1
  end
end
return restored
