-- thoonk/withdraw: removes a job from a job feed, whether it waits, is claimed or is stalled.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.stalled:<feed>, KEYS[7] feed.claimed:<feed>, KEYS[8] feed.cancelled:<feed>,
-- KEYS[9] feed.retract:<feed>, KEYS[10] feed.published:<feed>, KEYS[11] feed.tokens:<feed>,
-- KEYS[12] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- RETURNS 1 if it was removed, 0 if there is no such job
-- FIRST WRITE LREM
local feeds, config, ids, items, running, stalled, claimed, cancelled, retracted, published, tokens,
  counts = unpack(KEYS)
local name, known, id = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', running, 'list',
  stalled, 'list set', claimed, 'hash zset', cancelled, 'hash string', published, 'zset', tokens, 'hash')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
-- ASK HDEL HINCRBY SREM ZREM
redis.call('LREM', running, 1, id)
local set = redis.call('TYPE', stalled).ok == 'set'
if redis.call(set and 'SREM' or 'LREM', stalled, unpack(set and { id } or { 1, id })) == 0 then
  redis.call('LREM', ids, 1, id)
end
release({ claimed = claimed, tokens = tokens, sorted = redis.call('TYPE', claimed).ok == 'zset' }, id)
redis.call('ZREM', published, id)
forget_cancels(cancelled, id)
redis.call('HDEL', items, id)
count(counts, 'retracted')
redis.pcall('PUBLISH', retracted, id)
return 1
