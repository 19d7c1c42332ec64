-- worker/note_settled: notes that the outcomes that stand before it in a pipeline were taken.
--
-- A worker that waits for replicas sends one behind each settlement. Whoever is asked later, and knows the number, has
-- these outcomes: Redis replicates in the order in which it executes. It writes also when it is sent again, since the
-- outcomes may have been as well.
--
-- KEYS[1] lanes
-- ARGV[1] lane
-- ARGV[2] number of the settlement, and behind a space that of the last one that was answered, if it is known
-- RETURNS time in ms, then " 0=rewound:5-8" where Redis has forgotten the settlements between these
-- FIRST WRITE HDEL
local lanes, lane = KEYS[1], ARGV[1]
local number, known = ARGV[2]:match('^(%d+) ?(%d*)')

local answer, last, n = answered(lanes, lane, number)
if type(answer) == 'table' then return answer end
if not answer then
  answer = ms(now())
  if known ~= '' and known ~= n then answer = answer .. rewound(last, n, known, number) end
end
-- ASK HSET
redis.call('HDEL', lanes, lane)
redis.call('HSET', lanes, lane, number .. ' ' .. answer)
return answer
