-- worker/register: makes a worker known: its heartbeat, what it is, the queues it serves (call again for more than
-- 500).
--
-- KEYS[1] worker:<id>, KEYS[2] workers, KEYS[3] worker:<id>:queues, KEYS[4] worker:<id>:info, KEYS[5] queues,
-- KEYS[6] epoch, KEYS[7] dead, KEYS[8] deadlines
-- ARGV[1] worker
-- ARGV[2] ms that its heartbeat lasts
-- ARGV[3] a random value for epoch, in case there is none
-- ARGV[4] the id it had before it was fenced, which is then taken apart; empty where there is none
-- ARGV[5] how many fields of info
-- ARGV[6..] field and value of each, then the names of queues
-- RETURNS {ms, epoch}
-- FIRST WRITE PEXPIRE (of a key that may not be there yet)
local heart, workers, mine, info, queues, epoch, dead, deadlines = unpack(KEYS)
local worker, life, fresh, former, fields = unpack(ARGV, 1, 5)

local refusal = bad('SCARD', workers) or bad('SCARD', mine) or bad('HLEN', info) or bad('ZCARD', queues)
  or bad('SCARD', dead)
if refusal then return refusal end

local time = ms(now())
if redis.call('PEXPIRE', heart, life) == 0 then redis.call('SET', heart, 'RUN ' .. time, 'PX', life) end
if redis.call('SISMEMBER', dead, worker) == 0 then
  redis.call('SADD', workers, worker)
  expect(deadlines, worker, time + life)
end
if former ~= '' then
  redis.call('SREM', workers, former)
  redis.pcall('ZREM', deadlines, former)
  redis.call('SADD', dead, former)
end
local from = 6 + 2 * tonumber(fields)
if from > 6 then redis.call('HSET', info, unpack(ARGV, 6, from - 1)) end
for i = from, #ARGV do
  redis.call('SADD', mine, ARGV[i])
  redis.call('ZADD', queues, time, ARGV[i])
end
redis.call('SET', epoch, fresh, 'NX')
return { time, redis.call('GET', epoch) }
