-- worker/survey: tells a worker what Redis thinks it holds, and makes sure that no fetch sent before can still land.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers
-- KEYS[3..] worker:<id>:inprocess:<name> of each queue asked about
-- ARGV[1] worker
-- ARGV[2] number, of the same series as those of its fetches
-- ARGV[3] the last number that was acknowledged to the worker: where Redis knows of an older one only it says so, and
--   leaves that to be seen, should the reply be lost
-- ARGV[4] how many elements of each list at the most, oldest first
-- RETURNS {state (ok, fenced, stale, rewound), the last number before this one, then {element, ...} for each queue,
--   oldest first; no queues where nothing is held of any}
-- FIRST WRITE HDEL (of a field that is never there)
local info, workers = KEYS[1], KEYS[2]

if redis.call('SISMEMBER', workers, ARGV[1]) == 0 then return { 'fenced' } end
local before = redis.call('HGET', info, 'n') or '0'
if tonumber(ARGV[2]) < tonumber(before) then return { 'stale' } end
if tonumber(before) < tonumber(ARGV[3]) then return { 'rewound', before } end
-- ASK EXISTS HSET LRANGE
redis.call('HDEL', info, '')
redis.call('HSET', info, 'n', ARGV[2])

local answer = { 'ok', before }
if #KEYS < 3 or redis.call('EXISTS', unpack(KEYS, 3)) == 0 then return answer end
for i = 3, #KEYS do
  local elements = unless_refused(redis.pcall('LRANGE', KEYS[i], -tonumber(ARGV[4]), -1))
  local oldest = {}
  for j = #elements, 1, -1 do oldest[#oldest + 1] = elements[j] end
  answer[#answer + 1] = oldest
end
return answer
