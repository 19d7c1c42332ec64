-- limit/hint: notes controls that were said here and that another partition, which was away, has to be told of; or
-- forgets those that it was told of.
--
-- KEYS[1] hints, KEYS[2] lanes
-- ARGV[1] version of the map of the partitions by which its caller goes
-- ARGV[2] 1: note, unless something newer is noted; 0: forget, if it is still this that is noted
-- ARGV[3..] "<partition> NUL <name of the queue, empty for all>", and "<version> <1 if it is paused, 0 if it goes on>",
--   of each control
-- RETURNS how many were noted or forgotten, or the error ROUTE with the version of a newer map
-- FIRST WRITE HDEL
local hints, note = KEYS[1], ARGV[2] == '1'
local refusal = bad('HLEN', hints) or elsewhere(redis.call('HGET', KEYS[2], ''), ARGV[1])
if refusal then return refusal end

-- newer tells whether the control a was said after b, as limit/pause has it.
local function newer(a, b)
  local at, paused = a:match('^(%d+) (%d)')
  local than, before = b:match('^(%d+) (%d)')
  if not than or tonumber(at) ~= tonumber(than) then return tonumber(at) > (tonumber(than) or 0) end
  return paused < before
end

-- ASK HSET
local changed = 0
for i = 3, #ARGV, 2 do
  local field, control = ARGV[i], ARGV[i + 1]
  local noted = redis.call('HGET', hints, field)
  if note and newer(control, noted or '') or not note and noted == control then
    redis.call('HDEL', hints, field)
    if note then redis.call('HSET', hints, field, control) end
    changed = changed + 1
  end
end
return changed
