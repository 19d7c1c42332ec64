-- inspect/forget_queue: takes a queue in which nothing is out of the lists of queues, with what is left of it.
--
-- Somebody may have enqueued meanwhile: then it is a queue like any other, and stays.
--
-- KEYS[1] queues, KEYS[2] ready, KEYS[3] served, KEYS[4] queue:<name>, KEYS[5] wake:<name>, KEYS[6] running:<name>,
-- KEYS[7] rate:<name>, KEYS[8] turns, KEYS[9] passes, KEYS[10] turning, KEYS[11] holding, KEYS[12] waking
-- ARGV[1] name
-- ARGV[2] 1: no worker serves it, so that the name need not be known any longer
-- RETURNS 1, or 0 where there are jobs in it, or jobs of it hold places of their keys: its number among those with
--   turns would be that of another queue
-- FIRST WRITE ZREM
local queues, ready, served, queue, tokens, running, rate, turns, passes, turning, holding, waking = unpack(KEYS)
local refusal = bad('ZCARD', queues) or bad('SCARD', ready) or bad('ZCARD', served) or bad('LLEN', queue)
  or bad('SCARD', running) or bad('ZCARD', turns) or bad('ZCARD', passes) or bad('HLEN', turning)
  or bad('ZCARD', holding) or bad('ZCARD', waking)
if refusal then return refusal end
-- ASK HDEL HGET SREM UNLINK ZREMRANGEBYSCORE
local base = line(turning, ARGV[1])
if redis.call('EXISTS', queue) == 1 or redis.call('EXISTS', running) == 1 then return 0 end
if base then
  local number = string.format('%04.0f', base / 2 ^ 42)
  for _, from in ipairs({ base, 2 ^ 52 + base }) do -- those that may be drawn, and those that are parked
    if redis.call('ZCOUNT', turns, ms(from), '(' .. ms(from + 2 ^ 42)) > 0 then return 0 end
  end
  if redis.call('ZLEXCOUNT', holding, '[' .. number .. '\0', '(' .. number .. '\1') > 0 then return 0 end
end
redis.call('ZREM', queues, ARGV[1])
redis.call('SREM', ready, ARGV[1])
redis.call('UNLINK', tokens, rate)
if base then
  redis.call('HDEL', turning, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', passes, ms(base), '(' .. ms(base + 2 ^ 42))
  redis.call('ZREMRANGEBYSCORE', waking, ms(base), '(' .. ms(base + 2 ^ 42))
end
if ARGV[2] == '1' then redis.call('ZREM', served, ARGV[1]) end
return 1
