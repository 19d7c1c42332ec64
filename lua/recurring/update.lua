-- recurring/update: replaces an item by another one, which is due when that was.
--
-- KEYS[1] recurring:<name>
-- ARGV[1] item
-- ARGV[2] new item; one that is there already is due with the other one's time from now on
-- RETURNS 1 if it was replaced, also before; 0 if there is no such item
-- FIRST WRITE ZREM
local items = KEYS[1]
local old, new = unpack(ARGV)
local refusal = bad('ZCARD', items)
if refusal then return refusal end
local due = redis.call('ZSCORE', items, old)
if not due then return redis.call('ZSCORE', items, new) and 1 or 0 end
-- ASK ZADD
redis.call('ZREM', items, old)
redis.call('ZADD', items, due, new)
return 1
