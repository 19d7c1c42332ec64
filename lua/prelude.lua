-- prelude: what scripts share. The loader gives each file those functions that it uses.

-- now is Redis' clock in milliseconds; no decision rests on a client's.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function ms(time)
  return string.format('%.0f', time)
end

-- bad reads the key's length with the command of the type it should have. It returns a named error if the key has
-- another type, else nil and the length. Lua does not roll back, so each script asks this of all keys it will write,
-- before its first write.
local function bad(length, key)
  local answer = redis.pcall(length, key)
  if type(answer) == 'number' then return nil, answer end
  return redis.error_reply('BADKEY ' .. key .. ' has the wrong type for ' .. length)
end

-- wake leaves at least that many tokens for workers that wait. A broken list of tokens costs time, never a job.
local function wake(tokens, wanted)
  local have = redis.pcall('LLEN', tokens)
  if type(have) == 'number' and have < wanted then
    redis.call('LPUSH', tokens, unpack({ '1', '1' }, 1, wanted - have))
  end
end

-- room says how many jobs of a queue may begin now: those that its rule leaves room for, at most 500, and none while it
-- is paused. A rule is "<paused 0 or 1> <concurrent> <jobs> <ms> <burst> ...", with "-" for what is not limited; that
-- of the name "" pauses all. The second value is in how many ms there is room, where only a rate is in the way. Keys of a
-- wrong type leave no room: whoever fetches reports them. The third value is true where no rule is about the queue.
local function room(limits, name, running, rate)
  local rules = redis.pcall('HLEN', limits)
  if type(rules) ~= 'number' or rules == 0 then return 500, nil, true end
  local everything, rule = unpack(redis.call('HMGET', limits, '', name))
  if everything then return 0 end
  if not rule then return 500, nil, true end
  local paused, most, jobs, per, burst = rule:match('^(%d) (%S+) (%S+) (%S+) (%S+)')
  local begun, full = redis.pcall('SCARD', running), redis.pcall('GET', rate)
  if paused ~= '0' or type(begun) ~= 'number' or type(full) == 'table' then return 0 end
  local left = most == '-' and 500 or math.max(0, most - begun)
  if left == 0 or jobs == '-' then return left end
  local each, time = per / jobs, now()
  full = math.max(tonumber(full or 0), time) -- the time at which the burst would be whole again
  local more = math.floor((time + burst * each - full) / each + 1e-6)
  if more > 0 then return math.min(left, more) end
  return 0, math.ceil(full + each - time - burst * each)
end

-- spend notes that so many jobs of a queue begin, where its rule has a rate. The key lapses when nothing is owed any more.
local function spend(limits, name, rate, jobs)
  local rule = redis.call('HGET', limits, name)
  local n, per = (rule or ''):match('^%d %S+ (%d%S*) (%S+)')
  if not n then return end
  local time = now()
  local full = math.max(tonumber(redis.call('GET', rate) or 0), time) + jobs * per / n
  redis.call('SET', rate, string.format('%.3f', full), 'PX', math.ceil(full - time))
end
