-- rule: puts the rule of a queue into force, or takes it away, if what is there is still what the caller has read.
--
-- What a rate has used so far is carried over to the next one, as a number of jobs. A queue that may go on now gets its tokens.
--
-- KEYS[1] limits, KEYS[2] queue:<name>, KEYS[3] wake:<name>, KEYS[4] running:<name>, KEYS[5] rate:<name>
-- ARGV[1] name; empty for the rule of all queues
-- ARGV[2] rule that the caller has read; empty where there was none
-- ARGV[3] new rule; empty takes it away
-- ARGV[4] 1: what runs is counted anew (see fill), so what was counted is forgotten
-- RETURNS 1 if the rule is now the new one, 0 if it is another one than the caller has read
-- FIRST WRITE HDEL
local limits, queue, tokens, running, rate = unpack(KEYS)
local name, before, after, anew = unpack(ARGV)

local refusal = bad('HLEN', limits) or bad('SCARD', running) or bad('STRLEN', rate)
if refusal then return refusal end
local present = redis.call('HGET', limits, name) or ''
if present == after then return 1 end
if present ~= before then return 0 end

-- pace is how many ms of a rate one job takes, and how many the whole burst.
local function pace(rule)
  local jobs, per, burst = rule:match('^%d %S+ (%d+) (%d+) (%d+)')
  if jobs then return per / jobs, burst * per / jobs end
end

redis.call('HDEL', limits, name)
if after ~= '' then redis.call('HSET', limits, name, after) end
if anew == '1' then redis.call('UNLINK', running) end
local full, old, new, most = redis.call('GET', rate), pace(before), pace(after)
if full and new ~= old then
  local time = now()
  local owed = old and new and math.min((full - time) / old * new, most) or 0
  redis.call('UNLINK', rate)
  if owed > 0 then redis.call('SET', rate, string.format('%.3f', time + owed), 'PX', math.ceil(owed)) end
end
local waiting = redis.pcall('LLEN', queue)
if type(waiting) == 'number' and waiting > 0 then wake(tokens, math.min(waiting, 2, (room(limits, name, running, rate)))) end
return 1
