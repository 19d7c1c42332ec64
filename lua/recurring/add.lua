-- recurring/add: adds an item, which is due a period from now, unless it is there.
--
-- KEYS[1] recurring.config:<name>, KEYS[2] recurring:<name>
-- ARGV[1] item
-- RETURNS {1 if it was added, ms when it is due, as text}, {} if there is no such set
-- FIRST WRITE ZADD, refused at full memory
local config, items = unpack(KEYS)
local refusal = bad('HLEN', config) or bad('ZCARD', items)
if refusal then return refusal end
local period = tonumber(redis.call('HGET', config, 'timeout') or '')
if not period then return {} end
local due = redis.call('ZSCORE', items, ARGV[1])
if due then return { 0, due } end
due = ms(now() + period)
redis.call('ZADD', items, due, ARGV[1])
return { 1, due }
