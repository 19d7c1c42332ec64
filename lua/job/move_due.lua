-- job/move_due: moves ids that are due from scheduled or retry to the back of their queues, and says what is due next.
--
-- The caller read the queue names beforehand (the page of the last call); only ids that are still there and due by
-- Redis' clock are moved, and only if their queue is still the one that the caller read: an id that the caller of
-- enqueue chose may have ended since, and be back for another queue. Ids without a record are removed. What is asked
-- and written is asked and written of all ids together: one by one they would hold Redis up for several ms. Scores are
-- asked only where they are needed, since to write them costs Redis more than all else here. The fraction of a score is
-- for the order only. Those that have a key wait by turns; those that kept a place of their key are next.
--
-- KEYS[1] scheduled or retry, KEYS[2] names, KEYS[3] ready, KEYS[4] jobs, KEYS[5] limits, KEYS[6] turns,
-- KEYS[7] passes, KEYS[8] turning, KEYS[9] keyed, KEYS[10] holding
-- KEYS[11..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] how many to skip in the page (those that could not be moved)
-- ARGV[2] how many ids the page has at the most
-- ARGV[3] how many ms the page looks ahead
-- ARGV[4] 1: nobody wants to know since when that is due which is due already
-- ARGV[5] how many queues
-- ARGV[6..] their names, then groups: queue (1 is the first, 0 where there is no record), how many jobs, and their ids
-- RETURNS {ms, how many moved, ids not moved because their queue's key is broken, how many removed without a record,
--   page {id, ...}, queue names of the same or false, due ms of the last of the same (those before are due), ms of the
--   next due id at all or false}
-- FIRST WRITE ZREM
local shelf, names, ready, jobs, limits, turns, passes, turning, keyed, holding =
  unpack(KEYS, 1, 10)
local skip, limit, ahead, brief, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1',
  tonumber(ARGV[5])

local refusal = bad('ZCARD', shelf) or bad('HLEN', names) or bad('SCARD', ready) or bad('HLEN', jobs)
  or bad('HLEN', limits)
local nokeys, some = bad('HLEN', keyed)
refusal = refusal or nokeys or some > 0 and (bad('ZCARD', turns) or bad('ZCARD', passes) or bad('HLEN', turning)
  or bad('ZCARD', holding))
if refusal then return refusal end

local time, moved, removed, stuck = now(), 0, 0, {}
local after = time + 1 -- what is due in a ms is due when it begins

-- head are the first ids that are due.
local function head()
  return redis.call('ZRANGEBYSCORE', shelf, '-inf', '(' .. ms(after), 'LIMIT', skip, limit)
end

-- pending has for each id whether it is due and was not met yet; those that it does not have were not asked for. Nearly
-- always the ids that the caller read are the first ones.
local pending = {}
if ARGV[6 + count] then
  for _, id in ipairs(head()) do pending[id] = true end
end

-- due are those ids of a group that are still on the shelf, due, and of that queue; an id that is named twice counts
-- once.
local function due(queue, ids)
  local owners, wanted, there, size, asked = redis.call('HMGET', names, unpack(ids)), ARGV[5 + queue], {}, 0, false
  for i, id in ipairs(ids) do
    if pending[id] == nil and not asked then
      asked = true
      for n, score in ipairs(redis.call('ZMSCORE', shelf, unpack(ids))) do
        if pending[ids[n]] == nil then pending[ids[n]] = score and tonumber(score) < after end
      end
    end
    local name = owners[i]
    if pending[id] and (name == wanted or queue == 0 or not name or name == '') then
      size = size + 1
      there[size], pending[id] = id, false
    end
  end
  return there
end

-- ASK HDEL HEXISTS LLEN LPUSH SADD ZMSCORE
-- ASK some > 0: HGET HGETALL HSET ZADD ZRANGE ZSCORE

local function leave(ids)
  redis.call('ZREM', shelf, unpack(ids))
  redis.call('HDEL', names, unpack(ids))
end

-- line_or_list has those of a queue that have a key wait by turns, and the others at the back of its list.
local function line_or_list(name, list, ids)
  local others, waiting = ids, {}
  if some > 0 then
    others = {}
    for i, known in ipairs(redis.call('HMGET', keyed, unpack(ids))) do
      local weight, key = (known or ''):match('^(%d+) (.*)$')
      if key then
        waiting[#waiting + 1], waiting[#waiting + 2], waiting[#waiting + 3] = ids[i], key, weight
      else
        others[#others + 1] = ids[i]
      end
    end
    -- PRELUDE line
    -- PRELUDE assign
    -- PRELUDE line_up
    -- PRELUDE spot
    -- PRELUDE first_in_line
    if #waiting > 0 then
      waiting = first_in_line({ turns = turns, passes = passes, turning = turning, holding = holding }, name, waiting)
    end
    if #waiting > 0 and not line_up(turns, passes, turning, name, waiting) then
      for i = 1, #waiting, 3 do others[#others + 1] = waiting[i] end
    end
  end
  if #others > 0 then redis.call('LPUSH', list, unpack(others)) end
end

local at = 6 + count
while ARGV[at] do
  local queue, last = tonumber(ARGV[at]), at + 1 + tonumber(ARGV[at + 1])
  local key, ids = 7 + 4 * queue, due(queue, { unpack(ARGV, at + 2, last) })
  at = last + 1
  if queue == 0 then
    for _, id in ipairs(ids) do
      if redis.call('HEXISTS', jobs, id) == 0 then
        leave({ id })
        removed = removed + 1
      end
    end
  elseif #ids > 0 and wrong('LLEN', KEYS[key]) then
    for _, id in ipairs(ids) do stuck[#stuck + 1] = id end
  elseif #ids > 0 then
    leave(ids)
    line_or_list(ARGV[5 + queue], KEYS[key], ids)
    redis.call('SADD', ready, ARGV[5 + queue])
    summon(limits, ARGV[5 + queue], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], 1)
    moved = moved + #ids
  end
end

local ids, dues = brief and head() or {}, {}
if #ids < limit then
  local rest = redis.call('ZRANGEBYSCORE', shelf, '-inf', '(' .. ms(time + ahead + 1), 'WITHSCORES', 'LIMIT',
    skip + #ids, limit - #ids)
  for i = 1, #rest, 2 do ids[#ids + 1], dues[#dues + 1] = rest[i], rest[i + 1] end
end
local queues = #ids > 0 and redis.call('HMGET', names, unpack(ids)) or {}
local next = redis.call('ZRANGE', shelf, skip, skip, 'WITHSCORES')
return { ms(time), moved, stuck, removed, ids, queues, dues, next[2] or false }
