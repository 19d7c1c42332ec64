-- thoonk/put: puts an item into a queue or a job feed, at the back or at the front.
--
-- Programs that keep the config as a hash tell of jobs on a channel of their own, and listen to no other.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.publish:<feed>, KEYS[6] feed.publishes:<feed>, KEYS[7] feed.published:<feed>, KEYS[8] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- ARGV[5] 1: at the front
-- ARGV[6] 1: it is a job feed
-- RETURNS 1 if it was put, 0 if an item of that id is in the feed, waiting or claimed or stalled
-- FIRST WRITE HSET, refused at full memory
local feeds, config, ids, items, channel, publishes, published, counts = unpack(KEYS)
local name, known, id, item, front, job = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', publishes, 'string',
  published, 'zset') or outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 1 then return 0 end
local counted = released(known, publishes)
-- ASK HINCRBY INCR LPUSH RPUSH
if job == '1' then
  -- ASK TIME ZADD
end
redis.call('HSET', items, id, item)
redis.call(front == '1' and 'RPUSH' or 'LPUSH', ids, id)
if counted then redis.pcall('INCR', publishes) end
if job == '1' then redis.call('ZADD', published, ms(now()), id) end
count(counts, 'put')
redis.pcall('PUBLISH', job == '1' and known:sub(1, 1) == '\0' and publishes or channel, id .. '\0' .. item)
return 1
