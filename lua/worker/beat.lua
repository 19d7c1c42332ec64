-- worker/beat: keeps a worker alive for a few seconds, notes check-ins, and brings back what the worker should know.
--
-- A worker whose key has lapsed but that nobody took out of workers is alive: Redis or the network was away. It goes on
-- with a new "since". Only a reaper's script ends it. So does one whose "since" is to come: Redis' clock was set back,
-- and with it this worker would be no judge of others until that time.
--
-- Every worker sends this each second or two, and most have nothing to say: what that costs is why no function of the
-- prelude is used, and why numbers, which are whole here, are written as such: Lua takes a microsecond longer for each
-- as a fraction.
--
-- KEYS[1] worker:<id>, KEYS[2] workers, KEYS[3] epoch, KEYS[4] lease, KEYS[5] scheduled, KEYS[6] retry,
-- KEYS[7] worker:<id>:running, KEYS[8] claimed, KEYS[9] schedules:revision, KEYS[10] worker:<id>:info,
-- KEYS[11] cancelled, KEYS[12] deadlines, KEYS[13] deputy, KEYS[14] ready, KEYS[15] worker:<id>:queues,
-- KEYS[16] layout, KEYS[17] lanes
-- ARGV[1] worker
-- ARGV[2] ms that its heartbeat lasts
-- ARGV[3] epoch that it knows
-- ARGV[4] ms that the lease on maintenance and the place of its deputy last; 0 wants neither, and gives back what it
--   has
-- ARGV[5] 1: it waits, and asks whether one of its queues has jobs
-- ARGV[6] what it has run, for whoever finds it dead; empty where that is as told before
-- ARGV[7] its load, likewise
-- ARGV[8] how many check-ins
-- ARGV[9..] id, number of the fetch and message of each, then ids of jobs that ended
-- RETURNS {state (ok, fenced, lost), ms, 1 if it has the lease and 2 if it is the deputy, due ms of the next scheduled
--   id or false, of the next retry or false, revision of the schedules or false: these three only to the one with the
--   lease; what is wanted of it (pause, quiet, stop, now) or false; how many jobs are to be cancelled; 1 if one of
--   its queues has jobs; how many workers are registered; the layout or false; tokens of questions or false; number
--   of its last fetch or false: a smaller one than it knows of says that Redis has forgotten some; version of the
--   map of the partitions or false}
-- FIRST WRITE PEXPIRE
local heart, workers, epoch, lease, scheduled, retry, running, claimed, revision, info, cancelled, deadlines, deputy,
  ready, mine, layout, lanes = unpack(KEYS)
local worker, life, known, leased, count = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[8])

local alive = redis.call('PEXPIRE', heart, life) == 1
-- of another type: as if not there
local kept, since, holder, second, shape = unpack(redis.call('MGET', epoch, heart, lease, deputy, layout))
if kept ~= known then return { 'lost' } end
if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
local clock = redis.call('TIME')
local time = string.format('%d', clock[1] * 1000 + math.floor(clock[2] / 1000))
since = alive and since and tonumber(since:match('^RUN (%d+)$') or '')
if not since or since > tonumber(time) then redis.call('SET', heart, 'RUN ' .. time, 'PX', life) end
local noted = redis.pcall('ZADD', deadlines, string.format('%d', time + life), worker)
-- written by the next one
if type(noted) == 'table' and noted.err:find('WRONGTYPE', 1, true) then redis.call('UNLINK', deadlines) end

if ARGV[6] ~= '' then redis.pcall('HSET', info, 'ran', ARGV[6]) end
if ARGV[7] ~= '' then redis.pcall('HSET', info, 'load', ARGV[7]) end
if #ARGV > 8 and type(redis.pcall('HLEN', running)) == 'number' then
  local from = 9 + 3 * count
  for i = 9, from - 1, 3 do
    local claim = redis.pcall('HGET', claimed, ARGV[i])
    if type(claim) == 'string' and claim:find(worker .. ' ' .. ARGV[i + 1] .. ' ', 1, true) == 1 then
      redis.call('HSET', running, ARGV[i], time .. ' ' .. ARGV[i + 2])
    end
  end
  for i = from, #ARGV do redis.call('HDEL', running, ARGV[i]) end
end

local role = 0
if leased == 0 then
  if holder == worker then redis.call('UNLINK', lease) end
  if second == worker then redis.call('UNLINK', deputy) end
elseif not holder or holder == worker then
  redis.call('SET', lease, worker, 'PX', leased)
  if second == worker then redis.call('UNLINK', deputy) end
  role = 1
elseif not second or second == worker then
  redis.call('SET', deputy, worker, 'PX', leased)
  role = 2
end

-- The heartbeat is renewed above. A refusal is no answer: without n the worker would take Redis for one that fell back.
local asked = unless_refused(redis.pcall('HMGET', info, 'wanted', 'ping', 'now', 'asked', 'n'))
if asked.err then asked = {} end
if asked[2] then redis.call('HDEL', info, 'ping') end -- only the worker itself beats: this is its answer
local wanted, questions, last = asked[3] and 'now' or asked[1] or false, asked[4] or false, asked[5] or false
local flags, calls = 0, 0
if redis.call('EXISTS', cancelled, ready) > 0 then
  flags = redis.pcall('SCARD', cancelled)
  if type(flags) ~= 'number' then flags = 0 end
  calls = ARGV[5] == '1' and redis.pcall('SINTERCARD', 2, ready, mine, 'LIMIT', 1) == 1 and 1 or 0
end
local fleet, map = redis.call('SCARD', workers), redis.pcall('HGET', lanes, '')
if type(map) ~= 'string' then map = false end
if role ~= 1 then
  return { 'ok', time, role, false, false, false, wanted, flags, calls, fleet, shape, questions, last, map }
end
local function next(shelf)
  return type(redis.pcall('ZCARD', shelf)) == 'number' and redis.call('ZRANGE', shelf, 0, 0, 'WITHSCORES')[2] or false
end
local revised = redis.pcall('GET', revision)
return { 'ok', time, role, next(scheduled), next(retry), type(revised) == 'string' and revised or false, wanted, flags,
  calls, fleet, shape, questions, last, map }
