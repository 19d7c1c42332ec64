-- thoonk/stall: parks a claimed job until it is retried or retracted.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.items:<feed>, KEYS[4] feed.running:<feed>,
-- KEYS[5] feed.claimed:<feed>, KEYS[6] feed.stalled:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] time of the claim; empty parks any claim
-- RETURNS 1 if it is parked, 0 if the claim is gone
-- FIRST WRITE LREM
local feeds, config, items, running, claimed, stalled = unpack(KEYS)
local name, known, id, time = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('HLEN', items) or bad('LLEN', running)
  or bad('HLEN', claimed) or bad('LLEN', stalled)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if time ~= '' and redis.call('HGET', claimed, id) ~= time then return 0 end
if redis.call('LREM', running, 1, id) == 0 then return 0 end
redis.call('HDEL', claimed, id)
if redis.call('HEXISTS', items, id) == 0 then return 0 end
redis.call('RPUSH', stalled, id)
return 1
