-- repair/agree_indexes: makes the index of ready queues and that of all names agree with the queues, and forgets names
-- that were neither seen with jobs nor served for long.
--
-- KEYS[1] ready, KEYS[2] queues
-- KEYS[3..] queue:<name>, wake:<name> of each queue
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] ms after which a name is forgotten; 0 forgets none
-- ARGV[3..] name, and 1 if a worker serves it, of each queue
-- RETURNS {name, what, ...}. unready: it has jobs and is not in ready; idle: the reverse; unlisted: it has jobs and is
--   not in queues; silent: it has jobs and no token; old: it is forgotten
-- FIRST WRITE SREM (of a name that is never there)
local ready, queues = KEYS[1], KEYS[2]
local mend, age, time = ARGV[1] == '1', tonumber(ARGV[2]), now()
local refusal = bad('SCARD', ready) or bad('ZCARD', queues)
if refusal then return refusal end
if mend then redis.call('SREM', ready, '') end

local answer = {}
local function tell(name, what)
  local n = #answer
  answer[n + 1], answer[n + 2] = name, what
end

for i = 3, #KEYS, 2 do
  local name, served = ARGV[i], ARGV[i + 1] == '1'
  local length, tokens = redis.pcall('LLEN', KEYS[i]), redis.pcall('LLEN', KEYS[i + 1])
  local is, seen = redis.call('SISMEMBER', ready, name) == 1, redis.call('ZSCORE', queues, name)
  if type(length) == 'number' and length > 0 then
    if not is then tell(name, 'unready') end
    if not seen then tell(name, 'unlisted') end
    if tokens == 0 then tell(name, 'silent') end
    if mend then
      redis.call('SADD', ready, name)
      wake(KEYS[i + 1], 1)
    end
  elseif length == 0 and is then
    tell(name, 'idle')
    if mend then redis.call('SREM', ready, name) end
  end
  if mend and (served or length ~= 0) then
    redis.call('ZADD', queues, ms(time), name)
  elseif age > 0 and seen and tonumber(seen) < time - age then
    tell(name, 'old')
    if mend then redis.call('ZREM', queues, name) end
  end
end
return answer
