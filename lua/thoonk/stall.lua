-- thoonk/stall: parks a claimed job until it is retried or retracted.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.items:<feed>, KEYS[4] feed.running:<feed>,
-- KEYS[5] feed.claimed:<feed>, KEYS[6] feed.stalled:<feed>, KEYS[7] feed.cancelled:<feed>,
-- KEYS[8] feed.publishes:<feed>, KEYS[9] feed.tokens:<feed>, KEYS[10] feed.published:<feed>,
-- KEYS[11] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] time of the claim; empty parks any claim
-- RETURNS 1 if it is parked, 0 if the claim is gone
-- FIRST WRITE LREM
local feeds, config, items, running, claimed, stalled, cancelled, publishes, tokens, published, counts = unpack(KEYS)
local name, known, id, time = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', items, 'hash', running, 'list', claimed, 'hash zset',
  stalled, 'list set', cancelled, 'hash string', tokens, 'hash', published, 'zset')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
local set = as_set(stalled, known, publishes)
if time ~= '' and mark(c, id) ~= time then return 0 end
-- ASK HDEL HEXISTS HINCRBY RPUSH SADD ZREM
if redis.call('LREM', running, 1, id) + release(c, id) == 0 then return 0 end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
count(counts, 'stalled')
park(stalled, id, set, cancelled, published)
return 1
