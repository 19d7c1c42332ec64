-- thoonk/edit: replaces an item of a sorted feed, which keeps its id and its position.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.items:<feed>, KEYS[4] feed.edit:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- RETURNS 1 if it was replaced, 0 if there is no such item
-- FIRST WRITE HSET, refused at full memory
local feeds, config, items, edited = unpack(KEYS)
local name, known, id, item = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('HLEN', items)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
redis.call('HSET', items, id, item)
redis.call('PUBLISH', edited, id .. '\0' .. item)
return 1
