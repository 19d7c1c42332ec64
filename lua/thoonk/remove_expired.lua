-- thoonk/remove_expired: removes ids from the set of those with a result, if their results have expired.
--
-- KEYS[1] feed.jobresults:<feed>
-- KEYS[2..] feed.jobfinished:<feed>:<id> of each id
-- ARGV[1..] ids
-- RETURNS how many were struck off
-- FIRST WRITE SREM
local refusal = unfit(KEYS[1], 'set')
if refusal then return refusal end
local struck = 0
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then struck = struck + redis.call('SREM', KEYS[1], ARGV[i - 1]) end
end
return struck
