-- thoonk/publish: puts an item into a leaf as its newest, or edits in place the one that has the id.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.publish:<feed>, KEYS[6] feed.edit:<feed>, KEYS[7] feed.retract:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- ARGV[5] how many items the feed may have, 0 for any number; at most 500 of the oldest are removed at once
-- RETURNS 1 if it was published, 0 if it was edited
-- FIRST WRITE HSET, refused at full memory
local feeds, config, ids, items, published, edited, retracted = unpack(KEYS)
local name, known, id, item, max = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HSET', items, id, item) == 0 then
  redis.call('PUBLISH', edited, id .. '\0' .. item)
  return 0
end
redis.call('LPUSH', ids, id)
redis.call('PUBLISH', published, id .. '\0' .. item)
local over = tonumber(max) > 0 and redis.call('LLEN', ids) - max or 0
for _ = 1, math.min(over, 500) do
  local oldest = redis.call('RPOP', ids)
  redis.call('HDEL', items, oldest)
  redis.call('PUBLISH', retracted, oldest)
end
return 1
