-- partition/forget_tracked: removes the list of what was stored while it was to be moved, unless the map has changed
-- since the caller ended that: somebody else may have begun anew.
--
-- KEYS[1] lanes, KEYS[2] tracked
-- ARGV[1] version of the map that ended it
-- RETURNS 1 if it is gone, 0 if another map is known here
-- FIRST WRITE UNLINK
local lanes, tracked = unpack(KEYS)
local refusal = bad('HLEN', lanes) or bad('LLEN', tracked)
if refusal then return refusal end
if redis.call('HGET', lanes, '') ~= ARGV[1] then return 0 end
redis.call('UNLINK', tracked)
return 1
