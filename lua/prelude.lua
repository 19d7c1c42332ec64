-- prelude: what every script begins with. The loader puts it in front of each file.

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

