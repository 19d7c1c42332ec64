-- single: removes an id from the first queue if it stands in the second one too, or from the back of a queue that is given
-- as both if it stands in it twice.
--
-- KEYS[1] queue:<name>, KEYS[2] queue:<name>
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] id
-- ARGV[3] how far from the ends is looked
-- RETURNS 1 if it stands there twice, 0 if it does not or that could not be seen
-- FIRST WRITE LREM
local queue, other = unpack(KEYS)
local id, reach = ARGV[2], ARGV[3]
local refusal = bad('LLEN', queue) or bad('LLEN', other)
if refusal then return refusal end

local first = redis.call('LPOS', queue, id, 'RANK', 1, 'MAXLEN', reach)
local last = redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach)
if not first and not last then return 0 end
if queue == other then
  if not first or not last or first == last then return 0 end
elseif not redis.call('LPOS', other, id, 'RANK', 1, 'MAXLEN', reach)
  and not redis.call('LPOS', other, id, 'RANK', -1, 'MAXLEN', reach) then
  return 0
end
if ARGV[1] == '1' then redis.call('LREM', queue, first and 1 or -1, id) end
return 1
