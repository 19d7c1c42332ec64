-- worker/register: makes a worker known: its heartbeat, what it is, the queues it serves (call again for more than
-- 500). It is refused to a program that knows no layout which the namespace needs; a newer one says here what it needs.
--
-- KEYS[1] worker:<id>, KEYS[2] workers, KEYS[3] worker:<id>:queues, KEYS[4] worker:<id>:info, KEYS[5] queues,
-- KEYS[6] epoch, KEYS[7] dead, KEYS[8] deadlines, KEYS[9] served, KEYS[10] layout
-- ARGV[1] worker
-- ARGV[2] ms that its heartbeat lasts
-- ARGV[3] a random value for epoch, in case there is none
-- ARGV[4] the id it had before it was fenced, which is then taken apart; empty where there is none
-- ARGV[5] the layout that it knows, ARGV[6] the oldest one whose programs may work beside it
-- ARGV[7] how many fields of info
-- ARGV[8..] field and value of each, then the names of queues
-- RETURNS {ms, epoch}, or {0, layout as stored} where that is too new for it
-- FIRST WRITE PEXPIRE (of a key that may not be there yet)
local heart, workers, mine, info, queues, epoch, dead, deadlines, served, layout = unpack(KEYS)
local worker, life, fresh, former, knows, oldest, fields = unpack(ARGV, 1, 7)

local refusal = bad('SCARD', workers) or bad('SCARD', mine) or bad('HLEN', info) or bad('ZCARD', queues)
  or bad('SCARD', dead)
if refusal then return refusal end
local stored = unless_refused(redis.pcall('GET', layout))
local has, needs = (type(stored) == 'string' and stored or ''):match('^(%d+) (%d+)$')
if needs and tonumber(needs) > tonumber(knows) then return { 0, stored } end
local unnoted = bad('ZCARD', served) -- for enqueuers that ask; no worker needs it

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
local from = 8 + 2 * tonumber(fields)
if from > 8 then redis.call('HSET', info, unpack(ARGV, 8, from - 1)) end
for i = from, #ARGV do
  redis.call('SADD', mine, ARGV[i])
  redis.call('ZADD', queues, time, ARGV[i])
  if not unnoted then redis.call('ZADD', served, time, ARGV[i]) end
end
local newest, highest = math.max(knows, has or 0), math.max(oldest, needs or 0)
if tonumber(has) ~= newest or tonumber(needs) ~= highest then redis.call('SET', layout, newest .. ' ' .. highest) end
redis.call('SET', epoch, fresh, 'NX')
return { time, redis.call('GET', epoch) }
