-- due: moves ids that are due from scheduled or retry to the back of their queues, and says what is due next.
--
-- The caller read the queue names beforehand (the page of the last call); only ids that are still there and due by
-- Redis' clock are moved, and only if their queue is still the one that the caller read: an id that the caller of
-- enqueue chose may have ended since, and be back for another queue. Ids without a record are removed.
--
-- KEYS[1] scheduled or retry, KEYS[2] names, KEYS[3] ready, KEYS[4] jobs, KEYS[5] limits
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] how many to skip in the page (those that could not be moved)
-- ARGV[2] how many ids the page has at the most
-- ARGV[3] how many ms the page looks ahead
-- ARGV[4] how many queues
-- ARGV[5..] their names, then queue (1 is the first, 0 where there is no record) and id of each job
-- RETURNS {ms, how many moved, ids not moved because their queue's key is broken, how many removed without a record,
--   page {id, due ms, queue name or false, ...}, ms of the next due id at all or false}
-- FIRST WRITE ZREM
local shelf, names, ready, jobs, limits = unpack(KEYS, 1, 5)
local skip, limit, ahead, count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local refusal = bad('ZCARD', shelf) or bad('HLEN', names) or bad('SCARD', ready) or bad('HLEN', jobs) or bad('HLEN', limits)
if refusal then return refusal end

local time = now()
local batches, removed, stuck = {}, 0, {}
for i = 5 + count, #ARGV, 2 do
  local queue, id = tonumber(ARGV[i]), ARGV[i + 1]
  local due, name = redis.call('ZSCORE', shelf, id), redis.call('HGET', names, id)
  if due and tonumber(due) <= time and (queue == 0 or not name or name == '' or name == ARGV[4 + queue]) then
    if queue == 0 then
      if redis.call('HEXISTS', jobs, id) == 0 and redis.call('ZREM', shelf, id) == 1 then
        redis.call('HDEL', names, id)
        removed = removed + 1
      end
    elseif bad('LLEN', KEYS[2 + 4 * queue]) then
      stuck[#stuck + 1] = id
    elseif redis.call('ZREM', shelf, id) == 1 then
      batches[queue] = batches[queue] or {}
      batches[queue][#batches[queue] + 1] = id
    end
  end
end

local moved = 0
for queue = 1, count do
  local ids = batches[queue]
  if ids then
    local name, at = ARGV[4 + queue], 2 + 4 * queue
    redis.call('LPUSH', KEYS[at], unpack(ids))
    redis.call('HDEL', names, unpack(ids))
    redis.call('SADD', ready, name)
    if room(limits, name, KEYS[at + 2], KEYS[at + 3]) > 0 then wake(KEYS[at + 1], 1) end
    moved = moved + #ids
  end
end

local page, ids = {}, {}
local range = redis.call('ZRANGEBYSCORE', shelf, '-inf', ms(time + ahead), 'WITHSCORES', 'LIMIT', skip, limit)
for i = 1, #range, 2 do ids[#ids + 1] = range[i] end
local queues = #ids > 0 and redis.call('HMGET', names, unpack(ids)) or {}
for i, id in ipairs(ids) do
  local n = #page
  page[n + 1], page[n + 2], page[n + 3] = id, range[2 * i], queues[i]
end
local next = redis.call('ZRANGE', shelf, skip, skip, 'WITHSCORES')
return { ms(time), moved, stuck, removed, page, next[2] or false }
