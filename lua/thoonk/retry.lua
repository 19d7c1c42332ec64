-- thoonk/retry: puts a stalled job back to the end of the queue, as one that was never cancelled.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.stalled:<feed>, KEYS[6] feed.cancelled:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- RETURNS 1 if it waits again, 0 if it is not stalled
-- FIRST WRITE LREM
local feeds, config, ids, items, stalled, cancelled = unpack(KEYS)
local name, known, id = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
  or bad('LLEN', stalled) or bad('HLEN', cancelled)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('LREM', stalled, 1, id) == 0 then return 0 end
redis.call('HDEL', cancelled, id)
if redis.call('HEXISTS', items, id) == 0 then return 0 end
redis.call('LPUSH', ids, id)
return 1
