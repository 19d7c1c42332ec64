-- partition/freeze: takes jobs, locks and schedules out of their places, for another partition to store them.
--
-- What is frozen stands in no other place: no worker, daemon or inspector finds it, but who cancels, and who asks where
-- it is. It keeps the number of the call until it is handed over; while there is such a batch nothing more is frozen,
-- and the batch is returned again, to whoever leads then. A job that somebody holds stays, as a straggler: the target
-- counts it until it has ended or was moved. A waiting id that stands deep in its queue stays there as departed: to
-- find it would hold Redis up, and whoever fetches it drops it.
--
-- The number is at least the ms of Redis' clock: after a failover that has lost the last number no other batch gets one
-- that the target has answered. The batch has a name as well, for the target to tell one from another.
--
-- KEYS[1] mover, KEYS[2] frozen, KEYS[3] jobs, KEYS[4] claimed, KEYS[5] trail, KEYS[6] crashes, KEYS[7] cancelled,
-- KEYS[8] waited, KEYS[9] names, KEYS[10] unique, KEYS[11] scheduled, KEYS[12] retry, KEYS[13] morgue,
-- KEYS[14] stalled, KEYS[15] departed, KEYS[16] stragglers, KEYS[17] foreign, KEYS[18] schedules, KEYS[19] ticks,
-- KEYS[20] schedules:revision, KEYS[21] turns, KEYS[22] passes, KEYS[23] turning, KEYS[24] keyed, KEYS[25] parked,
-- KEYS[26] holding, KEYS[27] keyrules, KEYS[28] pacing, KEYS[29] waking, KEYS[30] ready
-- KEYS[31..] queue:<name>, wake:<name> of each queue
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms it leads from now on
-- ARGV[3] number of the target
-- ARGV[4] about how many bytes at the most
-- ARGV[5] how far from the front of a queue is looked
-- ARGV[6] how many queues
-- ARGV[7] 1: what waited goes to the front at the target
-- ARGV[8..] their names, then at most 500 times: kind (bound; loose: only from a shelf; known: a straggler, of which is
--   said what has changed; lock: without a job; schedule), id (of a lock its digest), digest of its lock, number of its
--   queue, key
-- RETURNS {state (ok; outstanding: those of the batch before, and nothing was done; led: by another mover), number of
--   the batch, number of the target, how many were looked at, name of the batch, 1 if it goes to the front, then of
--   each that is to be told: what (job, held, gone, lock, schedule), id, a text: see the contract}
-- FIRST WRITE PEXPIRE
local mover, frozen, jobs, claimed, trail, crashes, cancelled, waited, names, unique = unpack(KEYS, 1, 10)
local shelves = { KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[21] }
local departed, stragglers, foreign, schedules, ticks, revision = unpack(KEYS, 15)
local lines = lines_at(21)
local token, life, target, most, reach, count, front = unpack(ARGV, 1, 7)

local refusal = bad('STRLEN', mover) or bad('STRLEN', revision) or bad('ZCARD', lines.turns)
  or bad('ZCARD', lines.pacing) or unsound(lines)
for _, i in ipairs({ 2, 3, 4, 5, 6, 8, 9, 10, 16, 17, 18, 19 }) do refusal = refusal or bad('HLEN', KEYS[i]) end
for _, i in ipairs({ 7, 15, 30 }) do refusal = refusal or bad('SCARD', KEYS[i]) end
for i = 11, 14 do refusal = refusal or bad('ZCARD', KEYS[i]) end
for i = 31, #KEYS, 2 do refusal = refusal or bad('LLEN', KEYS[i]) end
if refusal then return refusal end
if redis.call('GET', mover) ~= token then return { 'led', 0, 0, 0, '', 0 } end

local last, named, way, back = (redis.call('HGET', frozen, '') or ''):match('^(%d+) (%S+) (%d) ?(%d*)')
if redis.call('HLEN', frozen) > 1 then
  local answer, all = { 'outstanding', tonumber(last), 0, 0, named, tonumber(way) }, redis.call('HGETALL', frozen)
  for i = 1, #all, 2 do
    if all[i] ~= '' then
      local n, schedule = #answer, all[i]:match('^schedule%z(.*)$')
      answer[n + 1], answer[n + 2], answer[n + 3] = schedule and 'schedule' or 'job', schedule or all[i], all[i + 1]
      answer[3] = back ~= '' and back or all[i + 1]:match('^%d+')
    end
  end
  return answer
end
-- ASK HDEL HEXISTS HSET LRANGE LTRIM RPUSH SADD SET SISMEMBER SREM UNLINK ZCOUNT ZREM ZSCORE
redis.call('PEXPIRE', mover, life)
local number = math.max(tonumber(last or 0) + 1, now())
-- before anything is taken: what stood in here under the number of the batch before could never be handed over
named = redis.sha1hex(ms(number) .. '\0' .. table.concat(ARGV, '\0'))
redis.call('HSET', frozen, '', ms(number) .. ' ' .. named .. ' ' .. front)

-- pack is what is kept of something frozen: where it goes, the number, whether it was cancelled, texts with their
-- lengths before them.
local function pack(flagged, ...)
  local texts, lengths = { ... }, { target, ms(number), flagged }
  for i, text in ipairs(texts) do lengths[i + 3] = #text end
  return table.concat(lengths, ' ') .. '\n' .. table.concat(texts)
end

local at, told, taken, looked, bytes = 8 + count, {}, {}, 0, 0
local function tell_of(what, id, text)
  told[#told + 1], told[#told + 2], told[#told + 3] = what, id, text
  bytes = bytes + #text
end

-- lock is the lock of a job as it stands, if it has it.
local function lock(id, digest)
  local held = digest ~= '' and redis.call('HGET', unique, digest) or ''
  return held:match('^(.*) %d+ %a$') == id and held or ''
end

local function place(id)
  for i, shelf in ipairs(shelves) do
    local score = redis.call('ZSCORE', shelf, id)
    if score then return ({ 'scheduled', 'retry', 'morgue', 'stalled', 'turns' })[i], score, shelf end
  end
  return 'queue', ''
end

local function take(id, digest, queue, record)
  local where, score, shelf = place(id)
  local held, known = lock(id, digest), redis.call('HGET', lines.keyed, id)
  local holds, paced = leave_line(lines, ARGV[7 + queue], id, known, where == 'turns' and score)
  local text = pack(redis.call('SISMEMBER', cancelled, id), where, score, ARGV[7 + queue], record,
    redis.call('HGET', trail, id) or '', redis.call('HGET', crashes, id) or '', redis.call('HGET', waited, id) or '',
    digest, held, known or '', ms(#told), holds, paced)
  taken[queue] = taken[queue] or {}
  if shelf then redis.call('ZREM', shelf, id) else taken[queue][id] = true end
  for _, key in ipairs({ jobs, trail, crashes, waited, names, lines.keyed }) do redis.call('HDEL', key, id) end
  redis.call('SREM', cancelled, id)
  if held ~= '' then redis.call('HDEL', unique, digest) end
  redis.call('HSET', frozen, id, text)
  tell_of('job', id, text)
end

-- look decides about one job.
local function look(kind, id, digest, queue, whose)
  local record = redis.call('HGET', jobs, id)
  local origin, noted = (not record and redis.call('HGET', foreign, id) or ''):match('^(%d+) [^%z]*%z([^%z]*)')
  if origin then digest = noted end -- only who has its record can say which lock it has
  -- one that comes to live where it is held is told again until that was heard
  local held, home = origin or redis.call('HEXISTS', claimed, id) == 1, origin == target
  local known = redis.call('HGET', stragglers, id)
  if held and kind ~= 'loose' then
    local has = lock(id, digest)
    local bound = kind == 'bound' and target .. ' ' .. bonds(ARGV[7 + queue], digest, whose)
    if bound then redis.call('HSET', stragglers, id, bound) end
    local news = kind == 'bound' or home or digest ~= '' and has == ''
    local base = whose ~= '' and line(lines.turning, ARGV[7 + queue])
    local paced = base and redis.call('ZSCORE', lines.pacing, spot(base, whose):sub(1, -2)) or ''
    local text = table.concat({ ARGV[7 + queue], digest, has, home and 'home' or '', whose, paced }, '\0')
    if news then tell_of('held', id, text) end
  elseif record and not held and (kind ~= 'loose' or not place(id):find('^[qt]u')) then
    take(id, digest, queue, record)
  elseif not record and known then
    tell_of('gone', id, table.concat({ ARGV[7 + queue], digest, lock(id, digest), '', whose }, '\0'))
  end
end

while ARGV[at] and bytes < tonumber(most) do
  local kind, id, digest, queue, whose = unpack(ARGV, at, at + 4)
  if kind == 'lock' then
    local held = redis.call('HGET', unique, id)
    local owner = held and held:match('^(.*) %d+ %a$')
    if owner and not alive(jobs, foreign, owner) then tell_of('lock', id, held) end
  elseif kind == 'schedule' then
    local definition = redis.call('HGET', schedules, id)
    if definition then
      local text = pack(0, definition, redis.call('HGET', ticks, id) or '')
      for _, key in ipairs({ schedules, ticks }) do redis.call('HDEL', key, id) end
      redis.call('SET', revision, redis.sha1hex(text))
      redis.call('HSET', frozen, 'schedule\0' .. id, text)
      tell_of('schedule', id, text)
    end
  else
    look(kind, id, digest, tonumber(queue), whose)
  end
  looked, at = looked + 1, at + 5
end

for queue, ids in pairs(taken) do
  local key = KEYS[29 + 2 * queue]
  depart(key, departed, ids, tonumber(reach))
  if rests(key, lines, ARGV[7 + queue]) then
    redis.call('SREM', lines.ready, ARGV[7 + queue])
    redis.call('UNLINK', KEYS[30 + 2 * queue])
  end
end
return { 'ok', number, target, looked, named, tonumber(front), unpack(told) }
