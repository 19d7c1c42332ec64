-- repair/remove_unfetchable: reads a part of a queue, and removes from it the ids that no fetch would take: without a
-- record, or held by a worker. Those far from both ends of a long queue stay: to remove them would take long, and the
-- fetch will drop them. What waits is taken off the shelves.
--
-- KEYS[1] queue:<name>, KEYS[2] jobs, KEYS[3] claimed, KEYS[4] names, KEYS[5] scheduled, KEYS[6] retry, KEYS[7] morgue,
-- KEYS[8] stalled, KEYS[9] turns
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] where to begin, from the back of the queue
-- ARGV[3] how many ids
-- ARGV[4] how far from the ends an id may be to be removed
-- RETURNS {length, ids, {id, what, 1 if it was removed from the queue, 2 if from the shelf, ...}}. ghost: it has no
--   record; held: a worker has it; scheduled, retry, morgue, stalled: it is on that shelf too; turns: it waits by
--   turns as well
-- FIRST WRITE LREM or ZREM
local queue, jobs, claimed, names, scheduled, retry, morgue, stalled, turns = unpack(KEYS)
local mend, from, reach = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[4])

local refusal = bad('LLEN', queue) or bad('HLEN', jobs) or bad('HLEN', claimed) or bad('HLEN', names)
  or bad('ZCARD', scheduled) or bad('ZCARD', retry) or bad('ZCARD', morgue) or bad('ZCARD', stalled)
  or bad('ZCARD', turns)
if refusal then return refusal end

local length, claims = redis.call('LLEN', queue), redis.call('HLEN', claimed)
local ids, told = redis.call('LRANGE', queue, from, from + tonumber(ARGV[3]) - 1), {}
local function tell(id, what, done)
  local n = #told
  told[n + 1], told[n + 2], told[n + 3] = id, what, done
end

local function unshelve(shelf, what)
  if redis.call('ZCARD', shelf) == 0 then return end
  for _, id in ipairs(ids) do
    if redis.call('ZSCORE', shelf, id) then
      tell(id, what, mend and 2 or 0)
      if mend then
        redis.call('ZREM', shelf, id)
        redis.call('HDEL', names, id)
      end
    end
  end
end

if mend then
  -- ASK HDEL HEXISTS LREM ZREM ZSCORE
end
for i, id in ipairs(ids) do
  local what = redis.call('HEXISTS', jobs, id) == 0 and 'ghost'
    or claims > 0 and redis.call('HEXISTS', claimed, id) == 1 and 'held'
  if what then
    local at, gone = from + i - 1, 0
    if mend and at < reach then
      gone = redis.call('LREM', queue, 1, id)
    elseif mend and length - at <= reach then
      gone = redis.call('LREM', queue, -1, id)
    end
    tell(id, what, gone)
  end
end
unshelve(scheduled, 'scheduled')
unshelve(retry, 'retry')
unshelve(morgue, 'morgue')
unshelve(stalled, 'stalled')
unshelve(turns, 'turns')
return { length, ids, told }
