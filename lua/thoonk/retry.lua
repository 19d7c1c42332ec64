-- thoonk/retry: puts a stalled job back to the end of the queue, as one that was never cancelled.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.stalled:<feed>, KEYS[6] feed.cancelled:<feed>, KEYS[7] feed.published:<feed>,
-- KEYS[8] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- RETURNS 1 if it waits again, 0 if it is not stalled
-- FIRST WRITE LREM or SREM
local feeds, config, ids, items, stalled, cancelled, published, counts = unpack(KEYS)
local name, known, id = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', stalled, 'list set',
  cancelled, 'hash string', published, 'zset') or outdated(feeds, name, config, known)
if refusal then return refusal end
local set = redis.call('TYPE', stalled).ok == 'set'
-- ASK HDEL HEXISTS HINCRBY LPUSH TIME ZADD
if not set and redis.call('LREM', stalled, 1, id) == 0 then return 0 end
if set and redis.call('SREM', stalled, id) == 0 then return 0 end
forget_cancels(cancelled, id)
if redis.call('HEXISTS', items, id) == 0 then return 0 end
count(counts, 'retried')
redis.call('LPUSH', ids, id)
if set then redis.call('ZADD', published, ms(now()), id) end
return 1
