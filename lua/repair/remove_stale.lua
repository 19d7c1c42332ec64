-- repair/remove_stale: removes lanes that have not been used for long, or groups of errors that have not grown, if they
-- still are as they were read.
--
-- KEYS[1] lanes or errors
-- ARGV[1] ms for which one must have been silent
-- ARGV[2..] lane or digest, and its value as it was read: "number time ..."
-- RETURNS how many were removed
-- FIRST WRITE HDEL
local refusal = bad('HLEN', KEYS[1])
if refusal then return refusal end
local before, removed = now() - tonumber(ARGV[1]), 0
for i = 2, #ARGV, 2 do
  local time = tonumber(ARGV[i + 1]:match('^%d+ (%d+)') or 0)
  if time < before and redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    removed = removed + redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return removed
