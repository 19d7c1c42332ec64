-- enqueue_mixed: stores the jobs of one call of one lane whatever they are: of several queues, at the front and at the back, due
-- later, with ids that the caller chose, with locks and objects. It promises what enqueue does.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] limits
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue, then, where some have more than a record, scheduled, names,
--   control, unique, objects, and object:<sha>:jobs of each object
-- ARGV[1] lane
-- ARGV[2] number of the call
-- ARGV[3] how many queues
-- ARGV[4] 1: some have more than a record: an id that the caller chose, a time, a lock, objects
-- ARGV[5..] their names, then groups: queue (1 is the first), place (back, front, in, at), delay or time in ms,
--   how many jobs, then id and record of each. If the place has a "+" behind it there follow, of a single job: whether the caller chose
--   the id (0, 1), digest of its lock, kind of lock (f until it has ended, s until it begins, t for a time), ms that it lasts (0: no
--   end), how many objects, then number of its key (1 is the first) and sha of each
-- RETURNS time in ms, then for each job that was not stored its number in this call and why: " 3=duplicate 5=badkey", or
--   " 4=unique:" with the bytes of the id of the job that has the lock in hex, or " 6=noobject:" with its sha
-- FIRST WRITE LPUSHX, RPUSHX, LPUSH, RPUSH or ZADD, refused at full memory as is all that stores what is new
local lanes, jobs, queues, ready, limits = unpack(KEYS, 1, 5)
local lane, number, count, special = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local before = 10 + 4 * count -- keys, before those of objects
local scheduled, names, control, unique, objects = unpack(KEYS, before - 4, before)

local last = redis.call('HGET', lanes, lane)
if last then
  local n = last:match('^%d+')
  if n == number then return last:sub(#n + 2) end
  if tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is at call ' .. n) end
end
local function unlisted() return bad('ZCARD', queues) or bad('SCARD', ready) end

-- With one queue and nothing but records that is asked before the first write as well, and only where they are written.
local refusal = bad('HLEN', jobs) or (special or count > 1) and unlisted()
if special then
  refusal = refusal or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('HLEN', unique) or bad('ZCARD', objects)
  for i = before + 1, #KEYS do refusal = refusal or bad('SCARD', KEYS[i]) end
end
if refusal then return refusal end

local t = redis.call('TIME')
local stamp = t[1] .. ('00000' .. t[2]):sub(-6, -4) -- ms, as now reckons
local time, reply = tonumber(stamp), stamp

-- push puts the jobs whose ids and records are ARGV[first..last] into their queue.
local function push(queue, name, place, first, last)
  local at, front, ids = 2 + 4 * queue, place == 'front', { ARGV[first] }
  for i = first + 2, last, 2 do ids[#ids + 1] = ARGV[i] end
  local length = redis.pcall(front and 'RPUSHX' or 'LPUSHX', KEYS[at], unpack(ids))
  if type(length) ~= 'number' then
    if not length.err:find('WRONGTYPE', 1, true) then return length end
    return 'badkey'
  end
  if length > 0 then return end
  local refusal = unlisted()
  if refusal then return refusal end
  redis.call(front and 'RPUSH' or 'LPUSH', KEYS[at], unpack(ids))
  redis.call('ZADD', queues, 'NX', stamp, name)
  redis.call('SADD', ready, name)
  if room(limits, name, KEYS[at + 2], KEYS[at + 3]) > 0 then wake(KEYS[at + 1], 1) end
end

local schedule, admit -- nearly no call needs them, and a function costs as much as a command
if special then
  function schedule(name, due, id)
    local added = redis.pcall('ZADD', scheduled, ms(due), id)
    if type(added) ~= 'number' then return added end
    redis.call('HSET', names, id, name)
    redis.call('ZADD', queues, 'NX', stamp, name)
    if redis.call('ZRANGE', scheduled, 0, 0)[1] == id then redis.call('PUBLISH', control, 'due') end
  end

  -- admit looks whether a job may be stored at all, and returns why not.
  function admit(id, chosen, digest, from, upto)
    if chosen == '1' and redis.call('HEXISTS', jobs, id) == 1 then return 'duplicate' end
    for i = from, upto, 2 do
      if not redis.call('ZSCORE', objects, ARGV[i + 1]) then return 'noobject:' .. ARGV[i + 1] end
    end
    local owner, ends, kind = (digest ~= '' and redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
    if not owner or owner == id or ends ~= '0' and tonumber(ends) <= time then return end
    if kind ~= 't' and redis.call('HEXISTS', jobs, owner) == 0 then return end
    return 'unique:' .. owner:gsub('.', function(c) return string.format('%02x', c:byte()) end)
  end
end

local at, nth = 5 + count, 0
while ARGV[at] do
  local queue, place, due, size = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first, after, name, why = at + 4, at + 4 + 2 * size, ARGV[4 + queue], nil
  local extended, from = place:sub(-1) == '+', after
  if extended then
    place, after = place:sub(1, -2), from + 5 + 2 * tonumber(ARGV[from + 4])
    why = admit(ARGV[first], ARGV[from], ARGV[from + 1], from + 5, after - 1)
  end
  if place == 'in' then due = time + due end
  if why then -- not stored
  elseif (place == 'in' or place == 'at') and due > time then
    why = schedule(name, due, ARGV[first])
  else
    why = push(queue, name, place, first, from - 1)
  end
  if type(why) == 'table' then return why end
  for i = 1, why and size or 0 do reply = reply .. ' ' .. (nth + i) .. '=' .. why end
  if extended and not why then
    local ends = ARGV[from + 3] == '0' and '0' or ms(time + tonumber(ARGV[from + 3]))
    if ARGV[from + 1] ~= '' then redis.call('HSET', unique, ARGV[from + 1], ARGV[first] .. ' ' .. ends .. ' ' .. ARGV[from + 2]) end
    for i = from + 5, after - 1, 2 do redis.call('SADD', KEYS[before + ARGV[i]], ARGV[first]) end
  end
  if not why then redis.call('HSET', jobs, unpack(ARGV, first, from - 1)) end
  at, nth = after, nth + size
end

redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
