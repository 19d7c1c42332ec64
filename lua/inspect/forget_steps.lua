-- inspect/forget_steps: forgets the steps and waits of a job that nobody holds: it does them all again. If it is put
-- off it is due now, since it may be put off until the end of a wait that is forgotten. Its messages stay.
--
-- KEYS[1] jobs, KEYS[2] claimed, KEYS[3] steps:<id>, KEYS[4] scheduled, KEYS[5] control
-- ARGV[1] id
-- RETURNS how many were forgotten; or gone: there is no such job; held: a worker has it
-- FIRST WRITE UNLINK
local jobs, claimed, steps, scheduled, control = unpack(KEYS)
local id = ARGV[1]

local nosteps, count = bad('HLEN', steps)
local refusal = bad('HLEN', jobs) or bad('HLEN', claimed) or nosteps or bad('ZCARD', scheduled)
if refusal then return refusal end
if redis.call('HEXISTS', jobs, id) == 0 then return 'gone' end
if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
if count == 0 then return 0 end
local due, time = redis.call('ZSCORE', scheduled, id), now()

-- ASK ZADD ZRANGE
redis.call('UNLINK', steps)
if due and tonumber(due) > time then
  redis.call('ZADD', scheduled, turn(scheduled, time, id, {}), id)
  -- PRELUDE tell
  tell(control, 'due')
end
return count - 1
