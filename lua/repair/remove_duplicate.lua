-- repair/remove_duplicate: removes an id from the first queue if it stands in the second one too, or twice in a queue
-- that is given as both: there the one nearest to the front stays. It looks about where each was seen, since to search
-- a long queue would hold Redis up.
--
-- Far from the ends an element cannot be taken out of a list in a short time: the empty text takes its place, which is
-- the id of no job, and is dropped by the worker that comes to it. LTRIM changes nothing; after a write that needs no
-- memory Redis executes LSET also when its memory is full.
--
-- KEYS[1] queue:<name>, KEYS[2] queue:<name>
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] id
-- ARGV[3] how many ids are before it in the first queue, about
-- ARGV[4] how many in the second one
-- ARGV[5] how far from there is looked
-- ARGV[6] how far from the ends an element may be to be taken out
-- RETURNS 1 if it stands there twice, 2 if it did and the empty text is in its place, 0 if it does not or that could
--   not be seen
-- FIRST WRITE LTRIM
local queue, other = unpack(KEYS)
local mend, id, near, reach = ARGV[1] == '1', ARGV[2], tonumber(ARGV[5]), tonumber(ARGV[6])
local refusal = bad('LLEN', queue) or bad('LLEN', other)
if refusal then return refusal end

-- seek returns where it stands furthest from the front, and nearest to it, counted from the back.
local function seek(list, ahead)
  local front = redis.call('LLEN', list) - 1
  local first, far, close = math.max(0, front - ahead - near)
  if front < ahead - near then return end
  for i, each in ipairs(redis.call('LRANGE', list, first, front - math.max(0, ahead - near))) do
    if each == id then far, close = far or first + i - 1, first + i - 1 end
  end
  return far, close
end

local far, close = seek(queue, tonumber(ARGV[3]))
local far2, close2 = seek(other, tonumber(ARGV[4]))
if not far or not far2 then return 0 end
if queue == other then
  far, close = math.min(far, far2), math.max(close, close2)
  if far == close then return 0 end
end
if mend then
  -- ASK LREM LSET
  redis.call('LTRIM', queue, 0, -1)
  redis.call('LSET', queue, far, '')
  if far < reach then
    redis.call('LREM', queue, 1, '')
    return 1
  elseif redis.call('LLEN', queue) - far <= reach then
    redis.call('LREM', queue, -1, '')
    return 1
  end
  return 2
end
return 1
