-- job/enqueue_several: stores the jobs of one call of one lane that go to the ends of several queues and have nothing
-- but a record, as those of callers do that come at the same time. It promises what enqueue does.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] limits
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each group
-- ARGV[1] lane
-- ARGV[2] number of the call; behind a space that of the last one that was answered, if it is known, else 0; behind
--   another the version of the map of the partitions by which it goes, if there is one
-- ARGV[3] how many groups
-- ARGV[4..] name of the queue, place (back, front) and how many jobs of each group, then id and record of each job
-- RETURNS time in ms, then " 0=rewound:5-8" where Redis has forgotten the calls of the lane between these, then for
--   each job that was not stored its number in this call and why: " 1=badkey 2=badkey". Where a newer map is
--   known here than its caller goes by nothing is done, and the error is ROUTE with its version
-- FIRST WRITE LPUSHX, RPUSHX, LPUSH or RPUSH, refused at full memory as is all that stores what is new
local lanes, jobs, queues, ready, limits = unpack(KEYS, 1, 5)
local lane, first = ARGV[1], 4 + 3 * ARGV[3]
local number, known, map = ARGV[2]:match('^(%d+) ?0?(%d*) ?(%d*)')

local found = redis.call('HMGET', lanes, lane, '')
local last, version, n = found[1], found[2], nil
if last then
  n = last:match('^%d+')
  if n ~= known then -- which is before number
    if n == number then return last:sub(#n + 2) end
    if tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is at call ' .. n) end
  end
end
if version and tonumber(version) > (tonumber(map) or 0) then return redis.error_reply('ROUTE ' .. version) end
for command, key in pairs({ HLEN = jobs, ZCARD = queues, SCARD = ready }) do
  local answer = redis.pcall(command, key)
  if type(answer) ~= 'number' then -- as bad does it
    return answer.err:find('WRONGTYPE', 1, true)
      and redis.error_reply('BADKEY ' .. key .. ' has the wrong type for ' .. command) or answer
  end
end
local t = redis.call('TIME')
local stamp = t[1] .. ('00000' .. t[2]):sub(-6, -4) -- ms, as now reckons

local reply, wrong = stamp, {}
if known ~= '' and known ~= n then
  -- PRELUDE rewound
  reply = reply .. rewound(last, n, known, number)
end
local nth, key = 0, 6
for at = 4, first - 1, 3 do
  local ids, front, size = {}, ARGV[at + 1] == 'front', tonumber(ARGV[at + 2])
  for i = 1, size do ids[i] = ARGV[first + 2 * (nth + i - 1)] end
  local length = redis.pcall(front and 'RPUSHX' or 'LPUSHX', KEYS[key], unpack(ids))
  if type(length) == 'table' then
    if not length.err:find('WRONGTYPE', 1, true) then return length end
    for i = nth + 1, nth + size do wrong[i], reply = true, reply .. ' ' .. i .. '=badkey' end
  elseif length == 0 then
    -- PRELUDE
    redis.call(front and 'RPUSH' or 'LPUSH', KEYS[key], unpack(ids))
    redis.call('ZADD', queues, 'NX', stamp, ARGV[at])
    redis.call('SADD', ready, ARGV[at])
    summon(limits, ARGV[at], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], 1)
  end
  nth, key = nth + size, key + 4
end
if not next(wrong) then
  redis.call('HSET', jobs, unpack(ARGV, first))
else
  local fields = {}
  for i = 1, nth do
    local job = first + 2 * i - 2
    if not wrong[i] then fields[#fields + 1], fields[#fields + 2] = ARGV[job], ARGV[job + 1] end
  end
  if #fields > 0 then redis.call('HSET', jobs, unpack(fields)) end
end
redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
