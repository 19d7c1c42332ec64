-- thoonk/publish: puts an item into a leaf as its newest, or edits in place the one that has the id.
--
-- The released programs keep the ids in a sorted set, by the time in ms, or in s where the config is a hash. One whose
-- clock is ahead has published what is later than now: what comes next is later still.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.publish:<feed>, KEYS[6] feed.edit:<feed>, KEYS[7] feed.retract:<feed>, KEYS[8] feed.publishes:<feed>,
-- KEYS[9] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] item
-- ARGV[5] how many items the feed may have, 0 for any number; at most 500 of the oldest are removed at once
-- RETURNS 1 if it was published, 0 if it was edited
-- FIRST WRITE HSET, refused at full memory
local feeds, config, ids, items, published, edited, retracted, publishes, counts = unpack(KEYS)
local name, known, id, item, max = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list zset', items, 'hash', publishes, 'string')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
local sorted = as_set(ids, known, publishes)
local old = redis.call('HGET', items, id)
-- ASK HDEL HINCRBY
if sorted then
  -- ASK INCR TIME ZADD ZCARD ZRANGE ZREM ZREVRANGE
else
  -- ASK LLEN LPUSH RPOP
end
local new = redis.call('HSET', items, id, item) == 1
if old ~= item then
  if sorted then redis.pcall('INCR', publishes) end
  count(counts, new and 'put' or 'edited')
end
if not new then
  redis.pcall('PUBLISH', edited, id .. '\0' .. item)
  return 0
end

local function latest()
  local newest = tonumber(redis.call('ZREVRANGE', ids, 0, 0, 'WITHSCORES')[2] or '')
  local seconds = newest and newest < 1e11 or not newest and known:sub(1, 1) == '\0'
  local unit = seconds and 1e-3 or 1
  local time = tonumber(moment()) * unit
  if newest and time <= newest then time = newest + unit end
  return string.format(seconds and '%.6f' or '%.3f', time)
end

if sorted then redis.call('ZADD', ids, latest(), id) else redis.call('LPUSH', ids, id) end
redis.pcall('PUBLISH', published, id .. '\0' .. item)
local over = tonumber(max) > 0 and redis.call(sorted and 'ZCARD' or 'LLEN', ids) - max or 0
for _ = 1, math.min(over, 500) do
  local oldest = sorted and redis.call('ZRANGE', ids, 0, 0)[1] or not sorted and redis.call('RPOP', ids)
  if sorted then redis.call('ZREM', ids, oldest) end
  redis.call('HDEL', items, oldest)
  redis.pcall('PUBLISH', retracted, oldest)
  count(counts, 'dropped')
end
return 1
