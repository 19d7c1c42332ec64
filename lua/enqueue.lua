-- enqueue: stores the jobs of one call of one lane, each in its queue or, if it is due later, in scheduled.
--
-- A call sent twice answers what it answered the first time and stores nothing again, even when its jobs have long run
-- and gone; a call older than the last one of its lane is refused, so an abandoned one can never land after a newer.
-- Places are written first and records last: an id without a record is dropped by the fetch, a record without a place
-- would be lost.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] scheduled, KEYS[6] names, KEYS[7] control
-- KEYS[8..] queue:<name>, wake:<name> of each queue
-- ARGV[1] lane
-- ARGV[2] number of the call
-- ARGV[3] how many queues
-- ARGV[4..] their names, then groups: queue (1 is the first), place (back, front, in, at), delay or time in ms,
--   whether the caller chose the id (0, 1), how many jobs, then id and record of each
-- RETURNS time in ms, then for each job that was not stored its number in this call and why: " 3=duplicate 5=badkey"
-- FIRST WRITE LPUSH, RPUSH or ZADD: the one script that a full Redis is meant to refuse
local lanes, jobs, queues, ready, scheduled, names, control = unpack(KEYS, 1, 7)
local lane, number = ARGV[1], ARGV[2]

local last = redis.call('HGET', lanes, lane)
if last then
  local n, reply = last:match('^(%d+) (.*)$')
  if tonumber(n) == tonumber(number) then return reply end
  if tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is at call ' .. n) end
end
local refusal = bad('HLEN', jobs) or bad('ZCARD', queues) or bad('SCARD', ready)
  or bad('ZCARD', scheduled) or bad('HLEN', names)
if refusal then return refusal end

local time = now()
local reply = { ms(time) }

local function push(queue, name, place, ids)
  local length = redis.pcall(place == 'front' and 'RPUSH' or 'LPUSH', KEYS[6 + 2 * queue], unpack(ids))
  if type(length) ~= 'number' then
    if not length.err:find('WRONGTYPE', 1, true) then return length end
    return 'badkey'
  end
  if length == #ids then redis.call('ZADD', queues, 'NX', ms(time), name) end
  redis.call('SADD', ready, name)
  wake(KEYS[7 + 2 * queue], 1)
end

local function schedule(name, due, id)
  local added = redis.pcall('ZADD', scheduled, ms(due), id)
  if type(added) ~= 'number' then return added end
  redis.call('HSET', names, id, name)
  redis.call('ZADD', queues, 'NX', ms(time), name)
  if redis.call('ZRANGE', scheduled, 0, 0)[1] == id then redis.call('PUBLISH', control, 'due') end
end

local at, count = 4 + tonumber(ARGV[3]), 0
while ARGV[at] do
  local queue, place, due, chosen, size = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3] == '1', tonumber(ARGV[at + 4])
  local first, after, name = at + 5, at + 5 + 2 * size, ARGV[3 + queue]
  if place == 'in' then due = time + due end
  local why
  if chosen and redis.call('HEXISTS', jobs, ARGV[first]) == 1 then
    why = 'duplicate'
  elseif (place == 'in' or place == 'at') and due > time then
    why = schedule(name, due, ARGV[first])
  else
    local ids = {}
    for i = first, after - 1, 2 do ids[#ids + 1] = ARGV[i] end
    why = push(queue, name, place, ids)
  end
  if type(why) == 'table' then return why end
  for i = 1, why and size or 0 do reply[#reply + 1] = (count + i) .. '=' .. why end
  if not why then redis.call('HSET', jobs, unpack(ARGV, first, after - 1)) end
  at, count = after, count + size
end

reply = table.concat(reply, ' ')
redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
