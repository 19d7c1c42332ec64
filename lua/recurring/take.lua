-- recurring/take: hands out the item that is due for longest, and puts it off by a period from now.
--
-- It is never sent twice: the second one would hand out another item.
--
-- KEYS[1] recurring.config:<name>, KEYS[2] recurring:<name>
-- RETURNS {1, ms when it was due, as text, item}; {0, ms until the next one is due}, -1 if there is none; {} if there
--   is no such set
-- FIRST WRITE ZREM
local config, items = unpack(KEYS)
local refusal = bad('HLEN', config) or bad('ZCARD', items)
if refusal then return refusal end
local period = tonumber(redis.call('HGET', config, 'timeout') or '')
if not period then return {} end
local first = redis.call('ZRANGE', items, 0, 0, 'WITHSCORES')
if not first[1] then return { 0, -1 } end
local present = now()
local left = math.ceil(first[2] - present)
-- ASK ZADD
if left > period then -- a clock was ahead
  redis.call('ZREM', items, first[1])
  redis.call('ZADD', items, ms(present + period), first[1])
  left = period
end
if left > 0 then return { 0, left } end
redis.call('ZREM', items, first[1]) -- so that a full Redis goes on
redis.call('ZADD', items, ms(present + period), first[1])
return { 1, first[2], first[1] }
