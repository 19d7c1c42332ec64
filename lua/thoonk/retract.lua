-- thoonk/retract: removes an item from a leaf or a sorted feed.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.retract:<feed>, KEYS[6] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- RETURNS 1 if it was removed, 0 if there is no such item
-- FIRST WRITE LREM or ZREM
local feeds, config, ids, items, retracted, counts = unpack(KEYS)
local name, known, id = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list zset', items, 'hash')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
-- ASK HDEL HINCRBY
if redis.call('TYPE', ids).ok == 'zset' then
  redis.call('ZREM', ids, id)
else
  redis.call('LREM', ids, 1, id)
end
redis.call('HDEL', items, id)
count(counts, 'retracted')
redis.pcall('PUBLISH', retracted, id)
return 1
