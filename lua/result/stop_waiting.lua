-- result/stop_waiting: removes the notes of those who have ceased to wait for a job.
--
-- KEYS[1] waited
-- ARGV[1..] ids, at most 500
-- RETURNS how many were removed
-- FIRST WRITE HDEL
local waited = KEYS[1]
local refusal = bad('HLEN', waited)
if refusal then return refusal end
local time, old = now(), {}
for i, stands in ipairs(redis.call('HMGET', waited, unpack(ARGV))) do
  if stands and (tonumber(stands) or 0) <= time then old[#old + 1] = ARGV[i] end
end
return #old > 0 and redis.call('HDEL', waited, unpack(old)) or 0
