-- wake: gives back tokens that a worker took and will not use, where jobs still wait.
--
-- KEYS[1..] queue:<name>, wake:<name> of each queue
-- RETURNS how many queues have jobs waiting
-- FIRST WRITE LTRIM (of the tokens, to the two that are ever needed)
local waiting = 0
for i = 1, #KEYS, 2 do
  local length = redis.pcall('LLEN', KEYS[i])
  if type(length) == 'number' and length > 0 and not bad('LLEN', KEYS[i + 1]) then
    redis.call('LTRIM', KEYS[i + 1], 0, 1)
    wake(KEYS[i + 1], 1)
    waiting = waiting + 1
  end
end
return waiting
