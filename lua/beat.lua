-- beat: keeps a worker alive for a few seconds, notes check-ins, and brings back what the worker should know.
--
-- A worker whose key has lapsed but that nobody took out of workers is alive: Redis or the network was away. It goes on
-- with a new "since". Only a reaper's script ends it. So does one whose "since" is to come: Redis' clock was set back, and
-- with it this worker would be no judge of others until that time.
--
-- KEYS[1] worker:<id>, KEYS[2] workers, KEYS[3] epoch, KEYS[4] lease, KEYS[5] scheduled, KEYS[6] retry,
-- KEYS[7] worker:<id>:running, KEYS[8] claimed, KEYS[9] schedules:revision, KEYS[10] worker:<id>:info,
-- KEYS[11] cancelled
-- ARGV[1] worker
-- ARGV[2] ms that its heartbeat lasts
-- ARGV[3] epoch that it knows
-- ARGV[4] ms that the lease on maintenance lasts; 0 does not want it
-- ARGV[5] how many check-ins
-- ARGV[6..] id, number of the fetch and message of each, then ids of jobs that ended
-- RETURNS {state (ok, fenced, lost), ms, 1 if it has the lease, due ms of the next scheduled id or false, of the next retry or
--   false, revision of the schedules or false: these three only to the one with the lease; what is wanted of it (pause, quiet,
--   stop) or false; how many jobs are to be cancelled}
-- FIRST WRITE PEXPIRE
local heart, workers, epoch, lease, scheduled, retry, running, claimed, revision, info, cancelled = unpack(KEYS)
local worker, life, known, leased, count = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local alive = redis.call('PEXPIRE', heart, life) == 1
if redis.call('GET', epoch) ~= known then return { 'lost' } end
if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
local time = ms(now())
local since = alive and redis.pcall('GET', heart)
since = type(since) == 'string' and tonumber(since:match('^RUN (%d+)$') or '')
if not since or since > tonumber(time) then redis.call('SET', heart, 'RUN ' .. time, 'PX', life) end

if not bad('HLEN', running) then
  local from = 6 + 3 * count
  for i = 6, from - 1, 3 do
    local claim = redis.pcall('HGET', claimed, ARGV[i])
    if type(claim) == 'string' and claim:find(worker .. ' ' .. ARGV[i + 1] .. ' ', 1, true) == 1 then
      redis.call('HSET', running, ARGV[i], time .. ' ' .. ARGV[i + 2])
    end
  end
  for i = from, #ARGV do redis.call('HDEL', running, ARGV[i]) end
end

local holder = redis.pcall('GET', lease)
if type(holder) == 'table' then holder = false end -- of another type: it is overwritten
if leased > 0 and not holder then
  redis.call('SET', lease, worker, 'PX', leased)
  holder = worker
elseif leased > 0 and holder == worker then
  redis.call('PEXPIRE', lease, leased)
end
local asked = redis.pcall('HMGET', info, 'wanted', 'ping')
if asked.err then asked = {} end
if asked[2] then redis.call('HDEL', info, 'ping') end -- only the worker itself beats: this is its answer
local wanted = asked[1] or false
local _, flags = bad('SCARD', cancelled)
flags = flags or 0
if holder ~= worker then return { 'ok', time, 0, false, false, false, wanted, flags } end
local function next(shelf) return not bad('ZCARD', shelf) and redis.call('ZRANGE', shelf, 0, 0, 'WITHSCORES')[2] or false end
local revised = redis.pcall('GET', revision)
return { 'ok', time, 1, next(scheduled), next(retry), type(revised) == 'string' and revised or false, wanted, flags }
