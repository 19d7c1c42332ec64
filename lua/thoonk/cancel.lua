-- thoonk/cancel: takes a claimed job from its worker, back to the end of the queue, and counts it.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.cancelled:<feed>,
-- KEYS[8] feed.publishes:<feed>, KEYS[9] feed.tokens:<feed>, KEYS[10] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] time of the claim; empty cancels any claim
-- RETURNS 1 if it waits again, 0 if the claim is gone
-- FIRST WRITE LREM
local feeds, config, ids, items, running, claimed, cancelled, publishes, tokens, counts = unpack(KEYS)
local name, known, id, time = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', running, 'list',
  claimed, 'hash zset', cancelled, 'hash string', tokens, 'hash') or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
if time ~= '' and mark(c, id) ~= time then return 0 end
-- ASK HDEL HEXISTS HINCRBY INCR LPUSH ZREM
if redis.call('LREM', running, 1, id) + release(c, id) == 0 then return 0 end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
count(counts, 'cancelled')
count_cancel(cancelled, id)
redis.call('LPUSH', ids, id)
return 1
