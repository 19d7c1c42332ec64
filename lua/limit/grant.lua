-- limit/grant: gives places of keys of a queue that are free to jobs that are parked, after the rule has changed: at
-- most about 500 in a call, of at most 100 keys. The caller comes again from where it ended. Sent twice, the second
-- finds none free, or goes on.
--
-- KEYS[1] wake:<name>, KEYS[2] turns, KEYS[3] passes, KEYS[4] turning, KEYS[5] keyed, KEYS[6] parked, KEYS[7] holding,
-- KEYS[8] keyrules, KEYS[9] pacing, KEYS[10] waking, KEYS[11] ready
-- ARGV[1] name of the queue
-- ARGV[2] key from which on it looks, empty from the first
-- ARGV[3] 1: at that one only
-- RETURNS {how many were given a place, 1 if there may be more, key from which on}
-- FIRST WRITE SREM (of a member that is never there)
local tokens = unpack(KEYS)
local lines, name, from, only = lines_at(2), ARGV[1], ARGV[2], ARGV[3] == '1'
local refusal = unsound(lines)
if refusal then return refusal end
-- ASK HGET HMGET SADD TIME ZADD ZLEXCOUNT ZMSCORE ZRANGE ZREM ZSCORE
local base = line(lines.turning, name)
if not base or lines.aside == 0 then return { 0, 0, '' } end
redis.call('SREM', lines.ready, '')

local number, given, roomy = string.format('%04.0f', base / 2 ^ 42), 0, false
local low = '[' .. number .. '\0' .. from
for _ = 1, 100 do
  local first = redis.call('ZRANGE', lines.parked, low, '(' .. number .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
  local key = first and first:match('^%d+%z(%Z*)%z')
  if not key or only and key ~= from then
    from = nil
    break
  end
  from = key
  local n, waits = grant(lines, name, base, key, key_rules(lines, name, { key })[key])
  given, roomy = given + n, roomy or n > 0 or waits
  if given >= 500 then break end
  local _, behind = within(spot(base, key))
  low = '[' .. behind:sub(2)
end
if roomy then wake(tokens, 2) end
return { given, from and 1 or 0, from or '' }
