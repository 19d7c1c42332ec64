-- thoonk/cancel: takes a claimed job from its worker, back to the end of the queue, and counts it.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.cancelled:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] time of the claim; empty cancels any claim
-- RETURNS 1 if it waits again, 0 if the claim is gone
-- FIRST WRITE LREM
local feeds, config, ids, items, running, claimed, cancelled = unpack(KEYS)
local name, known, id, time = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
  or bad('LLEN', running) or bad('HLEN', claimed) or bad('HLEN', cancelled)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if time ~= '' and redis.call('HGET', claimed, id) ~= time then return 0 end
if redis.call('LREM', running, 1, id) == 0 then return 0 end
redis.call('HDEL', claimed, id)
if redis.call('HEXISTS', items, id) == 0 then return 0 end
redis.call('HINCRBY', cancelled, id, 1)
redis.call('LPUSH', ids, id)
return 1
