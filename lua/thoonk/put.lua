-- thoonk/put: puts an item into a queue or a job feed, at the back or at the front.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.publish:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- ARGV[5] 1: at the front
-- RETURNS 1 if it was put, 0 if an item of that id is in the feed, waiting or claimed or stalled
-- FIRST WRITE HSET, refused at full memory
local feeds, config, ids, items, published = unpack(KEYS)
local name, known, id, item, front = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config) or bad('LLEN', ids) or bad('HLEN', items)
if refusal then return refusal end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 1 then return 0 end
redis.call('HSET', items, id, item)
redis.call(front == '1' and 'RPUSH' or 'LPUSH', ids, id)
redis.call('PUBLISH', published, id .. '\0' .. item)
return 1
