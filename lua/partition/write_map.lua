-- partition/write_map: notes the map of the partitions, if it is newer than the one that is known here. From then on
-- whoever stores by an older map is refused with ROUTE.
--
-- The version stands in the lanes as well, in the field that no lane has: scripts that look up a lane learn it along
-- with that.
--
-- KEYS[1] lanes, KEYS[2] map
-- ARGV[1] version
-- ARGV[2] the map
-- ARGV[3] the version that it must follow, as a compare-and-set; empty: any lower one
-- RETURNS the version that is known here now: that of the call, if it counted now or before. Where it must follow
--   another one than is here, and the map here is not that of the call, the error ROUTE with the version
-- FIRST WRITE HDEL
local lanes, map, version, text, after = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local refusal = bad('HLEN', lanes) or bad('STRLEN', map)
if refusal then return refusal end
local known = redis.call('EXISTS', map) == 1 and redis.call('HGET', lanes, '') or '0'
if after ~= '' and known ~= after then
  if known == version and redis.call('GET', map) == text then return tonumber(known) end
  return redis.error_reply('ROUTE ' .. known)
end
if tonumber(known) >= tonumber(version) then return tonumber(known) end
-- ASK HSET SET
redis.call('HDEL', lanes, '') -- a full Redis takes this and what follows: it is divided since it is full
redis.call('SET', map, text)
redis.call('HSET', lanes, '', version)
return tonumber(version)
