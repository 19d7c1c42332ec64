-- job/restore: makes a Redis that has lost data know again what a worker holds: record, claim, place and lock of each
-- job. It has a place of its key, and counts towards the limit of its queue, if that has been declared again by now;
-- else the limit counts it when it is.
--
-- A job that has its record may wait again, since Redis has lost that it was fetched: it is taken out of where it waits
-- and claimed, so that it does not run twice. In a queue it is looked for from the front, where it was fetched. One
-- that is not found there is claimed all the same: a fetch drops an id that is claimed. What is claimed by somebody
-- else stays so, and what has another record by now is another job. Nor is one taken that has failed, or was
-- interrupted, more often than its worker knows: somebody else has run it meanwhile, and decided what becomes of it.
--
-- Each call has a number, so that one that was given up stores nothing that has ended since. A call that was not
-- answered is sent again under the same number: if it was executed before, nothing is stored, as a job without a claim
-- has then ended since. That is looked at before the other keys, so a refusal says that it was not executed.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers, KEYS[3] jobs, KEYS[4] claimed, KEYS[5] trail, KEYS[6] unique,
-- KEYS[7] limits, KEYS[8] names, KEYS[9] scheduled, KEYS[10] retry, KEYS[11] morgue, KEYS[12] stalled,
-- KEYS[13] turns, KEYS[14] passes, KEYS[15] turning, KEYS[16] keyed, KEYS[17] parked, KEYS[18] holding,
-- KEYS[19] keyrules, KEYS[20] pacing, KEYS[21] waking, KEYS[22] ready
-- KEYS[23..] worker:<id>:inprocess:<name>, running:<name>, queue:<name> of each queue
-- ARGV[1] worker
-- ARGV[2] number of its last fetch
-- ARGV[3] number of this call
-- ARGV[4] how far from the front of a queue is looked
-- ARGV[5] how many queues
-- ARGV[6..] their names, then queue (1 is the first), id, element, number in the element, record, trail, digest of its
--   lock (empty for none), its kind (f, m, s; - where it was freed when the job began), and weight and key (empty for
--   none) of each job
-- RETURNS {ok, fenced or stale, how many were stored again, how many waited and were claimed again, how many were
--   claimed so already, elements of those that are somebody else's}
-- FIRST WRITE HDEL (of a field that is never there)
local info, workers, jobs, claimed, trail, unique, limits, names = unpack(KEYS, 1, 8)
local lines = lines_at(13)
local worker, number, call, reach, count = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local refusal = bad('HLEN', info) or bad('SCARD', workers) or bad('HLEN', claimed)
if refusal then return refusal end
if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
local last = redis.call('HMGET', info, 'n', 'restored')
local ahead = tonumber(last[2] or 0) - tonumber(call)
if ahead > 0 then return { 'stale' } end
if ahead < 0 then
  refusal = bad('HLEN', jobs) or bad('HLEN', trail) or bad('HLEN', unique) or bad('HLEN', limits) or bad('HLEN', names)
  for i = 9, 13 do refusal = refusal or bad('ZCARD', KEYS[i]) end
  refusal = refusal or unsound(lines)
  for i = 23, #KEYS, 3 do
    refusal = refusal or bad('LLEN', KEYS[i]) or bad('SCARD', KEYS[i + 1]) or bad('LLEN', KEYS[i + 2])
  end
  if refusal then return refusal end
  -- ASK HGETALL HSETNX LPOS LPUSH LREM SADD TIME ZADD ZREM ZSCORE
end
-- ASK HGET HSET TIME

redis.call('HDEL', info, '')
redis.call('HSET', info, 'n', ms(math.max(last[1] or 0, number)), 'restored', call)

-- take removes a job from where it waits.
local function take(id, queue, key)
  for i = 9, 12 do
    if redis.call('ZREM', KEYS[i], id) == 1 then return redis.call('HDEL', names, id) end
  end
  local score = redis.call('ZSCORE', lines.turns, id)
  if score then
    unpark(lines, id, score, key)
    return redis.call('ZREM', lines.turns, id)
  end
  if redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach) then redis.call('LREM', queue, -1, id) end
end

-- tries is how often a job with that trail has come back from who ran it.
local function tries(of)
  return (of:match('"fails":(%d+)') or 0) + (of:match('"interruptions":(%d+)') or 0)
end

-- foreign tells whether a job that nobody has claimed is not the one that is held, or was run by somebody else since.
local function foreign(id, known, record, news)
  return known and (known ~= record or tries(redis.call('HGET', trail, id) or '') > tries(news))
end

local time, stored, again, mine, others = ms(now()), 0, 0, 0, {}
for i = 6 + count, #ARGV, 9 do
  local at, id, element, n, record, news, digest, kind, key = 20 + 3 * ARGV[i], unpack(ARGV, i + 1, i + 8)
  local name, claim = ARGV[5 + ARGV[i]], redis.call('HGET', claimed, id)
  local known = ahead < 0 and redis.call('HGET', jobs, id)
  if claim and claim:find(worker .. ' ' .. n .. ' ', 1, true) == 1 then
    mine = mine + 1
  elseif claim or foreign(id, known, record, news) then
    others[#others + 1] = element
  elseif ahead < 0 then
    if known then
      take(id, KEYS[at + 2], key)
      again = again + 1
    else
      stored = stored + 1
    end
    if news ~= '' then redis.call('HSET', trail, id, news) end
    if key ~= '' then
      redis.call('HSET', lines.keyed, id, key)
      local base = assign(lines.turning, name)
      if base then redis.call('ZADD', lines.holding, 0, spot(base, key:match('^%d+ (.*)$')) .. id) end
    end
    redis.call('LPUSH', KEYS[at], element)
    local _, most = (redis.call('HGET', limits, rule_name(name)) or ''):match('^(%d) (%d+)')
    if most then redis.call('SADD', KEYS[at + 1], id) end
    if kind == '-' then
      -- or of a member of a flow, which waits there still: see flow_of
      local owner = (redis.call('HGET', unique, digest) or ''):match('^(.*) %d+ [st]$')
      if owner == id then redis.call('HDEL', unique, digest) end
    elseif digest ~= '' then
      if redis.call('HGET', unique, digest) == id .. ' 0 t' then redis.call('HDEL', unique, digest) end -- see flow_of
      redis.call('HSETNX', unique, digest, id .. ' 0 ' .. kind)
    end
    redis.call('HSET', claimed, id, worker .. ' ' .. n .. ' ' .. time .. ' ' .. name)
    if not known then redis.call('HSET', jobs, id, record) end
  end
end
return { 'ok', stored, again, mine, others }
