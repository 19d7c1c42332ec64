-- thoonk/withdraw: removes a job from a job feed, whether it waits, is claimed or is stalled.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.stalled:<feed>, KEYS[7] feed.claimed:<feed>, KEYS[8] feed.cancelled:<feed>,
-- KEYS[9] feed.retract:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- RETURNS 1 if it was removed, 0 if there is no such job
-- FIRST WRITE LREM
local feeds, config, ids, items, running, stalled, claimed, cancelled, retracted = unpack(KEYS)
local name, known, id = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
  or bad('LLEN', running) or bad('LLEN', stalled) or bad('HLEN', claimed) or bad('HLEN', cancelled)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
redis.call('LREM', running, 1, id)
if redis.call('LREM', stalled, 1, id) == 0 then redis.call('LREM', ids, 1, id) end
redis.call('HDEL', claimed, id)
redis.call('HDEL', cancelled, id)
redis.call('HDEL', items, id)
redis.call('PUBLISH', retracted, id)
return 1
