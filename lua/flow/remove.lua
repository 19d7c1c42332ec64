-- flow/remove: removes a flow with all that it has: one whose time is over, or one that was never sealed. Its members
-- that are in the morgue stay there.
--
-- One that has others in it is marked first, so that nobody else does anything about it. Then the caller removes these
-- one by one, and then it. So is one that has not ended and has special members: the caller frees their locks. It is in
-- flows:over meanwhile, so that a caller who dies is replaced.
-- Members that are at home in other partitions are removed there before it, too. Those that others have lodged here
-- are removed by flow/order alone. The last key is that of the flow that it is in, or its own where it is in none.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] flows, KEYS[13] flows:filling,
-- KEYS[14] flow:<id>
-- ARGV[1] id of the flow
-- ARGV[2] ms since when nobody has stored a part of it; or 0: it is one that has ended, whose time is over; or -1: one
--   that has ended, whenever that was. One that is in another goes when that is being removed, or is gone
-- ARGV[3] 1: those that it has in it are removed, and locks freed
-- RETURNS 1; 0 where it goes on; or 2: those that it has in it are to be removed, and its locks to be freed, first
-- FIRST WRITE ZREM
local flow, busy, over, flows, filling = KEYS[1], KEYS[10], KEYS[11], KEYS[12], KEYS[13]
local id, age, outer = ARGV[1], tonumber(ARGV[2]), KEYS[14] ~= flow and KEYS[14]
local refusal = bad('HLEN', flow) or bad('ZCARD', busy) or bad('ZCARD', over) or bad('ZCARD', flows)
  or bad('ZCARD', filling)
if refusal then return refusal end

local state, inner, special, away, lodged =
  unpack(redis.call('HMGET', flow, 'state', 'inner', 'special', 'away', 'home'))
if lodged then return 0 end
-- ASK HSET TIME UNLINK ZADD ZREM ZSCORE
if state == 'done' or state == 'dead' or state == 'cancelled' then special = nil end -- no member waits
if ARGV[3] == '1' and state ~= 'removing' then return 0 end -- somebody else has removed it
if outer then
  local above = redis.call('HGET', outer, 'state')
  if above and above ~= 'removing' then return 0 end
  redis.call('ZREM', busy, id)
elseif state == 'removing' then
  redis.call('ZREM', over, id)
elseif age > 0 then
  local last = redis.call('ZSCORE', filling, id)
  if state and state ~= 'filling' then last = nil end
  if last and tonumber(last) + age > now() then return 0 end
  redis.call('ZREM', filling, id)
  if not last then return 0 end
else
  if age < 0 and state == 'reopening' then return 0 end
  local ends = redis.call('ZSCORE', over, id)
  if state == 'filling' or state == 'running' then
    if ends and tonumber(ends) < 4e15 then redis.call('ZREM', over, id) end
    return 0
  end
  if age == 0 and ends and tonumber(ends) > now() then return 0 end
  redis.call('ZREM', over, id)
end
if (inner or special or away) and ARGV[3] ~= '1' then
  redis.call('HSET', flow, 'state', 'removing')
  if not outer then redis.call('ZADD', over, ms(now()), id) end
  redis.call('ZREM', busy, id)
  return 2
end
redis.call('UNLINK', unpack(KEYS, 1, 9))
redis.call('ZREM', flows, id)
redis.call('ZREM', busy, id)
return 1
