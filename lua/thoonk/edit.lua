-- thoonk/edit: replaces an item of a sorted feed, which keeps its id and its position.
--
-- Programs that keep the config as a hash say that on the channel of what is new, and listen to no other.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.items:<feed>, KEYS[4] feed.edit:<feed>,
-- KEYS[5] feed.publish:<feed>, KEYS[6] feed.publishes:<feed>, KEYS[7] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- RETURNS 1 if it was replaced, 0 if there is no such item
-- FIRST WRITE HSET, refused at full memory
local feeds, config, items, edited, published, publishes, counts = unpack(KEYS)
local name, known, id, item = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', items, 'hash', publishes, 'string')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
local old = redis.call('HGET', items, id)
if not old then return 0 end
-- ASK EXISTS HINCRBY INCR
redis.call('HSET', items, id, item)
if old ~= item then
  if released(known, publishes) then redis.pcall('INCR', publishes) end
  count(counts, 'edited')
end
redis.pcall('PUBLISH', known:sub(1, 1) == '\0' and published or edited, id .. '\0' .. item)
return 1
