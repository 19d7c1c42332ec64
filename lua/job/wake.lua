-- job/wake: gives back tokens that a worker took and will not use, where jobs still wait, or leaves them where jobs
-- have ended.
--
-- KEYS[1] limits, KEYS[2] turns, KEYS[3] turning, KEYS[4] waking
-- KEYS[5..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] 1: jobs have ended, which makes no room in a rate
-- ARGV[2..] their names
-- RETURNS how many queues have jobs that wait
-- FIRST WRITE LTRIM (of the tokens, to the two that are ever needed)
local waiting = 0
for i = 5, #KEYS, 4 do
  local length, name = redis.pcall('LLEN', KEYS[i]), ARGV[(i + 3) / 4]
  if length == 0 then length = lined(KEYS[2], KEYS[3], name) end
  if length == 0 then length = lined(KEYS[4], KEYS[3], name) end -- keys that wait for their rate
  if type(length) == 'number' and length > 0 and not bad('LLEN', KEYS[i + 1]) then
    redis.call('LTRIM', KEYS[i + 1], 0, 1)
    local left, wait, _, limited = room(KEYS[1], name, KEYS[i + 2], KEYS[i + 3])
    wake(KEYS[i + 1], math.min(1, wait and (limited or ARGV[1] ~= '1') and 1 or left))
    waiting = waiting + 1
  end
end
return waiting
