-- limit/forget: forgets when queues were paused or resumed last, of those that go on.
--
-- The version of a control is kept for the sake of older ones that may come later. Its caller has seen that no
-- partition has an older one to tell, nor takes the queue for paused. What was said here since stays.
--
-- KEYS[1] limits, KEYS[2] lanes, KEYS[3] pauses
-- ARGV[1] version of the map of the partitions by which its caller goes
-- ARGV[2..] name (empty for all queues), and the version that was seen, of each queue
-- RETURNS how many were forgotten, or the error ROUTE with the version of a newer map
-- FIRST WRITE HDEL
local limits, pauses = KEYS[1], KEYS[3]
local refusal = bad('HLEN', limits) or bad('HLEN', pauses) or elsewhere(redis.call('HGET', KEYS[2], ''), ARGV[1])
if refusal then return refusal end

local forgotten = 0
for i = 2, #ARGV, 2 do
  local paused = (redis.call('HGET', limits, ARGV[i]) or ''):sub(1, 1) == '1'
  if not paused and redis.call('HGET', pauses, ARGV[i]) == ARGV[i + 1] then
    forgotten = forgotten + redis.call('HDEL', pauses, ARGV[i])
  end
end
return forgotten
