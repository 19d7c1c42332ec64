-- strike: reads a part of a queue, and removes from it the ids that no fetch would take: without a record, or held by a
-- worker. Those far from both ends of a long queue stay: to remove them would take long, and the fetch will drop them.
--
-- KEYS[1] queue:<name>, KEYS[2] jobs, KEYS[3] claimed
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] where to begin, from the back of the queue
-- ARGV[3] how many ids
-- ARGV[4] how far from the ends an id may be to be removed
-- RETURNS {length, ids, {id, what (ghost, held), 1 if it was removed, ...}}
-- FIRST WRITE LREM
local queue, jobs, claimed = unpack(KEYS)
local mend, from, reach = ARGV[1] == '1', tonumber(ARGV[2]), tonumber(ARGV[4])

local refusal = bad('LLEN', queue) or bad('HLEN', jobs) or bad('HLEN', claimed)
if refusal then return refusal end

local length = redis.call('LLEN', queue)
local ids, told, removed = redis.call('LRANGE', queue, from, from + tonumber(ARGV[3]) - 1), {}, 0
for i, id in ipairs(ids) do
  local what = redis.call('HEXISTS', jobs, id) == 0 and 'ghost' or redis.call('HEXISTS', claimed, id) == 1 and 'held'
  if what then
    local at, gone = from + i - 1, 0
    if mend and at < reach then
      gone = redis.call('LREM', queue, 1, id)
    elseif mend and length - at <= reach then
      gone = redis.call('LREM', queue, -1, id)
    end
    local n = #told
    told[n + 1], told[n + 2], told[n + 3] = id, what, gone
  end
end
return { length, ids, told }
