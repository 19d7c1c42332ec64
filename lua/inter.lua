-- inter: removes the oldest jobs of the morgue: those over its limit, and those that are too old.
--
-- KEYS[1] morgue, KEYS[2] names, KEYS[3] jobs, KEYS[4] trail, KEYS[5] crashes
-- ARGV[1] how many the morgue may hold
-- ARGV[2] ms that a job may stay
-- ARGV[3] how many to remove at the most
-- RETURNS {id, queue name or false, ...} of those removed
-- FIRST WRITE ZREM
local morgue, names, jobs, trail, crashes = unpack(KEYS)
local refusal = bad('ZCARD', morgue) or bad('HLEN', names) or bad('HLEN', jobs) or bad('HLEN', trail)
  or bad('HLEN', crashes)
if refusal then return refusal end

local most = tonumber(ARGV[3])
local over = math.min(redis.call('ZCARD', morgue) - tonumber(ARGV[1]), most)
local ids = over > 0 and redis.call('ZRANGE', morgue, 0, over - 1) or {}
if #ids == 0 then
  ids = redis.call('ZRANGEBYSCORE', morgue, '-inf', ms(now() - tonumber(ARGV[2])), 'LIMIT', 0, most)
end
if #ids == 0 then return {} end

local queues, answer = redis.call('HMGET', names, unpack(ids)), {}
for i, id in ipairs(ids) do
  answer[2 * i - 1], answer[2 * i] = id, queues[i]
end
redis.call('ZREM', morgue, unpack(ids))
redis.call('HDEL', names, unpack(ids))
redis.call('HDEL', jobs, unpack(ids))
redis.call('HDEL', trail, unpack(ids))
redis.call('HDEL', crashes, unpack(ids))
return answer
