-- worker/witness: tells what is known of lanes to whoever asks next how many replicas have all that.
--
-- It stands before a WAIT, and it writes, though nothing changes: since Redis 7.2 a WAIT is about the last command of
-- its own connection that was replicated, and says at once that all replicas have it where there was none.
--
-- KEYS[1] lanes
-- ARGV[1..] lanes
-- RETURNS what is noted of each, or false
-- FIRST WRITE PEXPIRE (which is taken back)
local lanes = KEYS[1]

local refusal = bad('HLEN', lanes)
if refusal then return refusal end
-- ASK PERSIST
if redis.call('PEXPIRE', lanes, 86400000) == 1 then redis.call('PERSIST', lanes) end
return redis.call('HMGET', lanes, unpack(ARGV))
