-- thoonk/reclaim_overdue: cancels or stalls those of the named jobs that were claimed too long ago.
--
-- A running job without a time of its claim (its worker of another program died in between) gets the present one, and
-- so the same patience as the others. What was retracted is removed, and never put back.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.cancelled:<feed>, KEYS[8] feed.stalled:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] ms that a claim may be old
-- ARGV[4] how often a job may be cancelled before it is stalled; empty for any number
-- ARGV[5..] ids
-- RETURNS {ids that wait again, ids that are stalled}
-- FIRST WRITE PERSIST (of the claims, which have no TTL: what follows must not be refused at full memory)
local feeds, config, ids, items, running, claimed, cancelled, stalled = unpack(KEYS)
local name, known, age, times = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
  or bad('LLEN', running) or bad('HLEN', claimed) or bad('HLEN', cancelled) or bad('LLEN', stalled)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
local present, waiting, parked = now(), {}, {}
redis.call('PERSIST', claimed)

local function reclaim(id)
  if redis.call('LREM', running, 1, id) == 0 then return redis.call('HDEL', claimed, id) end
  redis.call('HDEL', claimed, id)
  if redis.call('HEXISTS', items, id) == 0 then return redis.call('HDEL', cancelled, id) end
  if times and (tonumber(redis.call('HGET', cancelled, id)) or 0) >= times then
    redis.call('RPUSH', stalled, id)
    parked[#parked + 1] = id
  else
    redis.call('HINCRBY', cancelled, id, 1)
    redis.call('LPUSH', ids, id)
    waiting[#waiting + 1] = id
  end
end

for i = 5, #ARGV do
  local id = ARGV[i]
  local since = tonumber(redis.call('HGET', claimed, id) or '')
  if since and since < 1e11 then since = since * 1000 end -- other programs write seconds
  if redis.call('HEXISTS', items, id) == 0 or since and present - since >= age then
    reclaim(id)
  elseif not since and redis.call('LPOS', running, id) then
    redis.call('HSET', claimed, id, ms(present))
  elseif not redis.call('LPOS', running, id) then
    redis.call('HDEL', claimed, id)
  end
end
return { waiting, parked }
