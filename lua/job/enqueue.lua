-- job/enqueue: stores the jobs of one call of one lane, all at the same end of one queue and with nothing but a record.
-- Most callers that come alone want just that.
--
-- A call sent twice answers what it answered the first time and stores nothing again, even when its jobs have long run
-- and gone; a call older than the last one of its lane is refused, so an abandoned one can never land after a newer.
-- Places are written first and records last: an id without a record is dropped by the fetch, a record without a place
-- would be lost. A queue that had jobs before has its tokens and is in ready: LPUSHX, which does nothing to an empty
-- one, finds that out with the push itself. What it has pushed is taken back where the records have another type, or
-- may not be written, which is cheaper than to ask each time before.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] limits, KEYS[6] queue:<name>,
-- KEYS[7] wake:<name>, KEYS[8] running:<name>, KEYS[9] rate:<name>
-- ARGV[1] lane
-- ARGV[2] number of the call; behind a space that of the last one that was answered, if it is known, else 0; behind
--   another the version of the map of the partitions by which it goes, if there is one
-- ARGV[3] name of the queue
-- ARGV[4] place (back, front)
-- ARGV[5..] id and record of each job
-- RETURNS time in ms, then " 0=rewound:5-8" where Redis has forgotten the calls of the lane between these, then for
--   each job that was not stored its number in this call and why: " 1=badkey 2=badkey". Where a newer map is
--   known here than its caller goes by nothing is done, and the error is ROUTE with its version
-- FIRST WRITE LPUSHX, RPUSHX, LPUSH or RPUSH, refused at full memory as is all that stores what is new
local lanes, jobs, queue, lane, front = KEYS[1], KEYS[2], KEYS[6], ARGV[1], ARGV[4] == 'front'
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
local t = redis.call('TIME')
local stamp = t[1] .. ('00000' .. t[2]):sub(-6, -4) -- ms, as now reckons
local ids = { ARGV[5] }
for i = 7, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end

local reply = stamp
if known ~= '' and known ~= n then
  -- PRELUDE rewound
  reply = reply .. rewound(last, n, known, number)
end
local length = redis.pcall(front and 'RPUSHX' or 'LPUSHX', queue, unpack(ids))
if type(length) == 'table' then
  if not length.err:find('WRONGTYPE', 1, true) then return length end
  for i = 1, #ids do reply = reply .. ' ' .. i .. '=badkey' end
else
  if length == 0 then
    -- PRELUDE
    local refusal = bad('HLEN', jobs) or bad('ZCARD', KEYS[3]) or bad('SCARD', KEYS[4])
    if refusal then return refusal end
    redis.call('ZADD', KEYS[3], 'NX', stamp, ARGV[3]) -- before the ids, so that a call which is refused them repeats
    redis.call('SADD', KEYS[4], ARGV[3])
    redis.call(front and 'RPUSH' or 'LPUSH', queue, unpack(ids))
    summon(KEYS[5], ARGV[3], KEYS[7], KEYS[8], KEYS[9], 1)
  end
  local stored = redis.pcall('HSET', jobs, unpack(ARGV, 5))
  if type(stored) == 'table' then
    redis.call('LTRIM', queue, front and 0 or #ids, front and -#ids - 1 or -1)
    if not stored.err:find('WRONGTYPE', 1, true) then return stored end
    return redis.error_reply('BADKEY ' .. jobs .. ' has the wrong type for HLEN')
  end
end

redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
