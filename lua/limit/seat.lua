-- limit/seat: gives jobs that a worker holds the places of their keys, if they were claimed while no key had a rule.
--
-- KEYS[1] claimed, KEYS[2] turning, KEYS[3] keyed, KEYS[4] holding
-- ARGV[1..] ids, at most 500
-- RETURNS how many have a place now that had none
-- FIRST WRITE ZREM (of a member that is never there)
local claimed, turning, keyed, holding = unpack(KEYS)
local refusal = bad('HLEN', claimed) or bad('HLEN', turning) or bad('HLEN', keyed) or bad('ZCARD', holding)
if refusal then return refusal end

-- ASK HGET HGETALL HMGET HSET ZADD
redis.call('ZREM', holding, '')
local seated, claims, known = {}, redis.call('HMGET', claimed, unpack(ARGV)), redis.call('HMGET', keyed, unpack(ARGV))
for i, id in ipairs(ARGV) do
  local key = known[i] and known[i]:match('^%d+ (.*)$')
  local name = claims[i] and claims[i]:match('^%S+ %S+ %S+ (.*)$')
  local base = key and name and assign(turning, name) -- which may have forgotten its turns while nothing waited
  if base then
    local n = #seated
    seated[n + 1], seated[n + 2] = '0', spot(base, key) .. id
  end
end
return #seated > 0 and redis.call('ZADD', holding, unpack(seated)) or 0
