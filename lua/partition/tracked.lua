-- partition/tracked: takes the first entries out of the list of what was stored while it was to be moved.
--
-- KEYS[1] mover, KEYS[2] tracked
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms it leads from now on
-- ARGV[3] how many it has read of those that come first, and that go now
-- ARGV[4] how many to read at the most
-- RETURNS {state (ok; led: by another mover), entries}
-- FIRST WRITE PEXPIRE
local mover, tracked = unpack(KEYS)
local refusal = bad('STRLEN', mover) or bad('LLEN', tracked)
if refusal then return refusal end
if redis.call('GET', mover) ~= ARGV[1] then return { 'led' } end
redis.call('PEXPIRE', mover, ARGV[2])
local entries = redis.call('LRANGE', tracked, ARGV[3], ARGV[3] + ARGV[4] - 1)
if ARGV[3] ~= '0' then redis.call('LTRIM', tracked, ARGV[3], -1) end
return { 'ok', unpack(entries) }
