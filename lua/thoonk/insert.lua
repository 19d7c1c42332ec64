-- thoonk/insert: puts an item into a sorted feed, under an id that was reserved for it.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.publish:<feed>, KEYS[6] feed.position:<feed>, KEYS[7] feed.publishes:<feed>,
-- KEYS[8] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- ARGV[5] position, as its event says it: "begin:", ":end", ":<id>" before an item, "<id>:" after one
-- RETURNS 1 if it is in the feed, 0 if the item of the position is not
-- FIRST WRITE HSET, refused at full memory
local feeds, config, ids, items, published, positioned, publishes, counts = unpack(KEYS)
local name, known, id, item, position = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', publishes, 'string')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 1 then return 1 end
local before, after = position:match('^:(%d+)$'), position:match('^(%d+):$')
if (before or after) and not redis.call('LPOS', ids, before or after) then return 0 end
-- ASK EXISTS HINCRBY INCR LINSERT LPUSH RPUSH
redis.call('HSET', items, id, item)
if before or after then
  redis.call('LINSERT', ids, before and 'BEFORE' or 'AFTER', before or after, id)
else
  redis.call(position == 'begin:' and 'LPUSH' or 'RPUSH', ids, id)
end
if released(known, publishes) then redis.pcall('INCR', publishes) end
count(counts, 'put')
redis.pcall('PUBLISH', published, id .. '\0' .. item)
redis.pcall('PUBLISH', positioned, id .. '\0' .. position)
return 1
