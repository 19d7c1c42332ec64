-- partition/receive: stores what another partition has frozen, each where it stood there, and notes what it still has
-- in hand: these jobs keep their ids and locks, and count towards limits, as if they were here.
--
-- It is a call of a lane: sent twice it answers the same, and one that is older than the last is refused, so what was
-- handed over and has run since never comes again. Another batch by the number of one that was stored is refused as
-- well: a failover has taken the number back where it comes from.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] trail, KEYS[4] crashes, KEYS[5] cancelled, KEYS[6] waited, KEYS[7] names,
-- KEYS[8] unique, KEYS[9] scheduled, KEYS[10] retry, KEYS[11] morgue, KEYS[12] stalled, KEYS[13] departed,
-- KEYS[14] foreign, KEYS[15] stragglers, KEYS[16] frozen, KEYS[17] schedules, KEYS[18] ticks,
-- KEYS[19] schedules:revision, KEYS[20] queues, KEYS[21] limits, KEYS[22] control, KEYS[23] outcomes,
-- KEYS[24] outcomes:until, KEYS[25] turns, KEYS[26] passes, KEYS[27] turning, KEYS[28] keyed, KEYS[29] parked,
-- KEYS[30] holding, KEYS[31] keyrules, KEYS[32] pacing, KEYS[33] waking, KEYS[34] ready
-- KEYS[35..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue, then object:<sha>:jobs of each
--   object
-- ARGV[1] lane
-- ARGV[2] number of the call
-- ARGV[3] number of the partition that they come from
-- ARGV[4] 1: what waited goes to the front of its queue
-- ARGV[5] how many queues
-- ARGV[6] name of the batch
-- ARGV[7] version of the map by which it goes here
-- ARGV[8..] their names, then of each: what (job, held, gone, lock, schedule), id (of a lock its digest), number of its
--   queue, place (of a held one home: it is held here, or was), score, 1 if it is to be cancelled, record (of a
--   schedule its definition), trail (its last tick), crashes, until when somebody waits, digest of its lock, its lock,
--   weight and key, 1 if it has a place of its key, what that has used of its rate, how many objects, and number of its
--   key (1 is the first) and sha of each
-- RETURNS ms and the name of the batch, then of those that are not as they should be their number in this call and why:
--   " 3=home", a held job that is here itself; " 4=busy", one that is on its way to there. The error BATCH where
--   another one had this number; ROUTE with the version of a newer map: it may belong elsewhere
-- FIRST WRITE HSET, refused at full memory
local lanes, jobs, trail, crashes, cancelled, waited, names, unique = unpack(KEYS, 1, 8)
local departed, foreign, stragglers, frozen, schedules, ticks, revision = unpack(KEYS, 13, 19)
local queues, limits, control, outcomes, expiry = unpack(KEYS, 20)
local lines = lines_at(25)
local shelves = { scheduled = KEYS[9], retry = KEYS[10], morgue = KEYS[11], stalled = KEYS[12] }
local lane, number, source, front, count, named, map = unpack(ARGV, 1, 7)
local width, first_object, lining, roomy = 16, 34 + 4 * count, {}, {}

local answer, before = answered(lanes, lane, number, map)
if type(answer) == 'string' and answer:match('^%d+ (%S+)') ~= named then
  return redis.error_reply('BATCH ' .. number .. ' of lane ' .. lane .. ' was another one')
end
if answer then return answer end
local refusal = bad('STRLEN', revision) or bad('ZCARD', lines.turns) or bad('ZCARD', lines.passes)
  or bad('ZCARD', lines.pacing) or unsound(lines)
for _, i in ipairs({ 1, 2, 3, 4, 6, 7, 8, 14, 15, 16, 17, 18, 21, 23 }) do
  refusal = refusal or bad('HLEN', KEYS[i])
end
for _, i in ipairs({ 9, 10, 11, 12, 20, 24 }) do refusal = refusal or bad('ZCARD', KEYS[i]) end
for _, i in ipairs({ 5, 13, 34 }) do refusal = refusal or bad('SCARD', KEYS[i]) end
for i = 35, first_object, 4 do refusal = refusal or bad('LLEN', KEYS[i]) or bad('SCARD', KEYS[i + 2]) end
for i = first_object + 1, #KEYS do refusal = refusal or bad('SCARD', KEYS[i]) end
if refusal then return refusal end

local time, reply, waiting, due, scheduled = now(), '', {}, false, false
-- ASK HDEL HEXISTS HGET HGETALL HSETNX LPUSH LREM RPUSH SADD SET SREM ZADD
-- ASK ZLEXCOUNT ZMSCORE ZRANGE ZREM ZSCORE
reply = ms(time) .. ' ' .. named
-- as it was: a full Redis refuses this, and the rest is written then; that the call has come is said at the end
redis.call('HSET', lanes, lane, before or '0 ' .. ms(time))
local stale = redis.call('SCARD', departed) > 0

-- stop takes a job that was foreign out of what counts here.
local function stop(id, queue)
  if (redis.call('HGET', foreign, id) or ''):match('^%d+') ~= source then return end
  redis.call('HDEL', foreign, id)
  redis.call('SREM', KEYS[33 + 4 * queue], id)
  waiting[queue] = waiting[queue] or {}
  return true
end

local function place_job(id, queue, place, score, known)
  local back = stale and redis.call('SREM', departed, id) == 1 -- it stands deep in its queue, from when it was here
  local weight, key = known:match('^(%d+) (.*)$')
  if back and place ~= 'queue' and (place ~= 'turns' or key) then redis.call('LREM', KEYS[31 + 4 * queue], 0, id) end
  if place == 'turns' and key then
    for _, word in ipairs({ id, key, weight }) do put(lining, queue, word) end
  elseif place ~= 'queue' and place ~= 'turns' then
    redis.call('ZADD', shelves[place], score, id)
    redis.call('HSET', names, id, ARGV[7 + queue])
    due = due or place == 'scheduled' or place == 'retry'
  elseif not back then
    put(waiting, queue, id)
  end
  waiting[queue] = waiting[queue] or {}
end

local function job(at, objects)
  local id, queue, place, score, flagged, record, history, died, waiter, digest, lock, known, holds, paced =
    unpack(ARGV, at + 1, at + 14)
  queue = tonumber(queue)
  place_job(id, queue, place, score, known)
  if known ~= '' then redis.call('HSET', lines.keyed, id, known) end
  stop(id, queue)
  roomy[queue] = sit_down(lines, ARGV[7 + queue], id, known, holds == '1', paced) or roomy[queue]
  for key, text in pairs({ [trail] = history, [crashes] = died, [waited] = waiter }) do
    if text ~= '' then redis.call('HSET', key, id, text) end
  end
  if flagged == '1' then redis.call('SADD', cancelled, id) end
  if lock ~= '' then redis.call('HSET', unique, digest, lock) else free(unique, id, digest) end
  if redis.call('HDEL', outcomes, id) == 1 then redis.call('ZREM', expiry, id) end
  for i = 1, 2 * objects, 2 do redis.call('SADD', KEYS[first_object + ARGV[at + 15 + i]], id) end
  redis.call('HSET', jobs, id, record)
  redis.call('ZADD', queues, 'NX', ms(time), ARGV[7 + queue])
end

local function held(nth, at)
  local id, queue, digest, lock, known = ARGV[at + 1], tonumber(ARGV[at + 2]), unpack(ARGV, at + 10, at + 12)
  local ours = (redis.call('HGET', stragglers, id) or ''):match('^%d+') == source
  if redis.call('HEXISTS', frozen, id) == 1 then
    reply = reply .. ' ' .. nth .. '=busy'
  elseif ours or ARGV[at + 3] == 'home' or redis.call('HEXISTS', jobs, id) == 1 then
    redis.call('HDEL', stragglers, id)
    reply = reply .. ' ' .. nth .. '=home'
  else
    redis.call('HSET', foreign, id, source .. ' ' .. bonds(ARGV[7 + queue], digest, known:sub(3)))
    sit_down(lines, ARGV[7 + queue], id, known, true, ARGV[at + 14])
    if redis.call('HEXISTS', limits, ARGV[7 + queue]) == 1 then redis.call('SADD', KEYS[33 + 4 * queue], id) end
    if lock ~= '' then redis.call('HSET', unique, digest, lock) else free(unique, id, digest) end
  end
end

local function schedule(id, definition, tick)
  if redis.call('HSETNX', schedules, id, definition) == 1 and tick ~= '' then redis.call('HSET', ticks, id, tick) end
  redis.call('SET', revision, ms(time) .. ' ' .. redis.sha1hex(id .. definition))
  scheduled = true
end

local at, nth = 8 + count, 1
while ARGV[at] do
  local what, id, objects = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 15])
  if what == 'job' then
    job(at, objects)
  elseif what == 'held' then
    held(nth, at)
  elseif what == 'gone' then
    local queue = tonumber(ARGV[at + 2])
    if stop(id, queue) then
      if ARGV[at + 11] == '' then free(unique, id, ARGV[at + 10]) end
      roomy[queue] = sit_down(lines, ARGV[7 + queue], id, ARGV[at + 12], false, '') or roomy[queue]
    end
  elseif what == 'lock' then
    redis.call('HSET', unique, id, ARGV[at + 11])
  else
    schedule(id, ARGV[at + 6], ARGV[at + 7])
  end
  at, nth = at + width + 2 * objects, nth + 1
end

for queue, ids in pairs(waiting) do
  local key, turned = 31 + 4 * queue, lining[queue]
  if turned and not join(lines.turns, lines.passes, lines.turning, ARGV[7 + queue], turned, front == '1') then
    for i = 1, #turned, 3 do ids[#ids + 1] = turned[i] end
  end
  if #ids > 0 then redis.call(front == '1' and 'RPUSH' or 'LPUSH', KEYS[key], unpack(ids)) end
  local length = redis.call('LLEN', KEYS[key]) + (turned and #turned or 0) + (roomy[queue] and 1 or 0)
  if length > 0 then
    redis.call('SADD', lines.ready, ARGV[7 + queue])
    summon(limits, ARGV[7 + queue], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], math.min(length, 2))
  end
end
if due or scheduled then
  -- PRELUDE tell
  if due then tell(control, 'due') end
  if scheduled then tell(control, 'schedules') end
end
redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
