-- repair/agree_indexes: makes the index of ready queues and that of all names agree with the queues, and forgets names
-- that were neither seen with jobs nor served for long. It notes the names that are served, and forgets those that no
-- worker has served for much longer: up to 500 in a call.
--
-- KEYS[1] ready, KEYS[2] queues, KEYS[3] served, KEYS[4] turns, KEYS[5] turning, KEYS[6] waking
-- KEYS[7..] queue:<name>, wake:<name> of each queue
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] ms after which a name is forgotten; 0 forgets none
-- ARGV[3] the same of a name that was served once, ARGV[4] how many of those there may be
-- ARGV[5..] name, and 1 if a worker serves it, of each queue
-- RETURNS {name, what, ...}. unready: it has jobs and is not in ready; idle: the reverse; unlisted: it has jobs and is
--   not in queues; silent: it has jobs and no token; old: it is forgotten
-- FIRST WRITE SREM (of a name that is never there)
local ready, queues, noted, turns, turning, waking = unpack(KEYS, 1, 6)
local mend, age, time = ARGV[1] == '1', tonumber(ARGV[2]), now()
local refusal = bad('SCARD', ready) or bad('ZCARD', queues)
if refusal then return refusal end
-- ASK HGET LLEN SISMEMBER ZCOUNT ZSCORE
if mend then
  -- ASK SADD ZADD ZRANGE ZREM
  redis.call('SREM', ready, '')
end
local unnoted, now_served = bad('ZCARD', noted), {}

local answer = {}
local function tell(name, what)
  local n = #answer
  answer[n + 1], answer[n + 2] = name, what
end

for i = 7, #KEYS, 2 do
  local name, served = ARGV[i - 2], ARGV[i - 1] == '1'
  local length, tokens = redis.pcall('LLEN', KEYS[i]), redis.pcall('LLEN', KEYS[i + 1])
  if length == 0 then length = lined(turns, turning, name) end
  if length == 0 then length = lined(waking, turning, name) end -- keys that wait for their rate
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
  if served then
    local n = #now_served
    now_served[n + 1], now_served[n + 2] = ms(time), name
  end
  if mend and (served or length ~= 0) then
    redis.call('ZADD', queues, ms(time), name)
  elseif age > 0 and seen and tonumber(seen) < time - age then
    tell(name, 'old')
    if mend then redis.call('ZREM', queues, name) end
  end
end
if mend and not unnoted then
  if #now_served > 0 then redis.call('ZADD', noted, unpack(now_served)) end
  local life, most = tonumber(ARGV[3]), tonumber(ARGV[4])
  if life > 0 then
    local surplus = math.min(500, redis.call('ZCARD', noted) - most)
    local gone = redis.call('ZRANGE', noted, '-inf', '(' .. ms(time - life), 'BYSCORE', 'LIMIT', 0, 500)
    if surplus > #gone then gone = redis.call('ZRANGE', noted, 0, surplus - 1) end
    if #gone > 0 then redis.call('ZREM', noted, unpack(gone)) end
  end
end
return answer
