-- job/end: ends one job, wherever it stands: held by a worker, waiting in a queue, or on a shelf. All that belongs to
-- it goes with it: what lies in Redis for it alone, its lock, its part in objects. How it ended and its id go to its
-- completion queue.
--
-- One that is to be cancelled ends so whoever ends it: who deletes it came too late. Where it was said before how it
-- has ended (keep_outcome.lua), that stays.
--
-- KEYS[1] claimed, KEYS[2] jobs, KEYS[3] trail, KEYS[4] crashes, KEYS[5] outcomes, KEYS[6] outcomes:until,
-- KEYS[7] limits, KEYS[8] cancelled, KEYS[9] waited, KEYS[10] done, KEYS[11] names, KEYS[12] unique,
-- KEYS[13] worker:<id>:inprocess:<name>, queue:<name>, turns, scheduled, retry, morgue or stalled,
-- KEYS[14] running:<name>, KEYS[15] keyed, KEYS[16] turns, KEYS[17] turning
-- KEYS[18..] log:<id> or state:<id> or completion:<name> or object:<sha>:jobs or ready of each belonging; or
--   ended:<state>:<name> and, next to it, details:<state>:<name>, where details are kept with the outcome
-- ARGV[1] id
-- ARGV[2] kind of place: claim, queue or shelf
-- ARGV[3] element of the claim; of a shelf, and of turns, the score with which it must stand there, or empty
-- ARGV[4] how it ended: done, discarded, cancelled, deleted, expired
-- ARGV[5] ms to keep the outcome, 0 keeps none
-- ARGV[6] outcome
-- ARGV[7] digest of its lock, empty where it has none
-- ARGV[8] how far from the ends of a queue is looked
-- ARGV[9..] of each key from the 18th: own (it is removed), completion, object, or ready with the name of the queue
--   that may be empty now; ended, and details with what they are
-- RETURNS ended; roomy: so did it, and its queue may have room now; gone: it does not stand there; far: it may stand in
--   the middle of the queue; held: a worker has it; or, where it ended otherwise, cancelled: it is to end so; waited:
--   somebody waits for its outcome, and none was sent along
-- FIRST WRITE LREM or ZREM
local claimed, jobs, trail, crashes, outcomes, expiry, limits, cancelled, waited, done, names, unique, place, running,
  keyed, turns, turning = unpack(KEYS, 1, 17)
local id, kind, element, state, keep, outcome, digest, reach = unpack(ARGV, 1, 8)

local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('HLEN', trail) or bad('HLEN', crashes)
  or bad('HLEN', outcomes) or bad('ZCARD', expiry) or bad('HLEN', limits) or bad('SCARD', cancelled)
  or bad('HLEN', waited) or bad('HLEN', names)
  or bad('HLEN', unique) or bad(kind == 'shelf' and 'ZCARD' or 'LLEN', place) or bad('SCARD', running)
  or bad('HLEN', keyed)
local lengths = { completion = 'LLEN', object = 'SCARD', ready = 'SCARD', ended = 'ZCARD', details = 'HLEN' }
for i = 18, #KEYS do
  local length = lengths[ARGV[i - 9]:match('^%a+')]
  refusal = refusal or length and bad(length, KEYS[i])
end
if refusal then return refusal end

local flagged = redis.call('SISMEMBER', cancelled, id) == 1
if flagged and state ~= 'cancelled' then return 'cancelled' end
if state == 'cancelled' and kind ~= 'claim' and not flagged then return 'gone' end -- it has ended; another has its id
local waiter = redis.call('HEXISTS', waited, id) == 1
if waiter and keep == '0' then return 'waited' end
local told = flagged and redis.call('HGET', outcomes, id)
local said = told and told:match('^{"state":"(%a+)"')
if said == 'cancelled' or said == 'deleted' then
  state, outcome = said, told
else
  said = nil -- of an earlier end: the job was stored again after Redis had lost it
end

-- leave takes the job out of its place.
local function leave()
  if kind == 'claim' then return redis.call('LREM', place, -1, element) == 1 and 'ended' or 'gone' end
  if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
  if kind == 'shelf' then
    local stands = tonumber(redis.call('ZSCORE', place, id) or -1)
    if element ~= '' and math.floor(stands) ~= math.floor(tonumber(element)) then return 'gone' end
    return redis.call('ZREM', place, id) == 1 and 'ended' or 'gone'
  end
  local newest = redis.call('LPOS', place, id, 'MAXLEN', reach)
  if newest or redis.call('LPOS', place, id, 'RANK', -1, 'MAXLEN', reach) then
    redis.call('LREM', place, newest and 1 or -1, id)
    return 'ended'
  end
  return redis.call('LLEN', place) > tonumber(reach) and 'far' or 'gone'
end
local left = leave()
if left ~= 'ended' then return left end

for _, key in ipairs({ claimed, jobs, trail, crashes, names, keyed }) do redis.call('HDEL', key, id) end
redis.call('SREM', cancelled, id)
local roomy = redis.call('SREM', running, id) == 1
local time = now()
if keep ~= '0' then
  redis.call('HSET', outcomes, id, outcome)
  redis.call('ZADD', expiry, ms(time + tonumber(keep)), id)
end
if waiter then
  redis.call('HDEL', waited, id)
  -- PRELUDE tell
  tell(done, id)
end
local owner, _, lock = (digest ~= '' and redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
if owner == id and (lock ~= 't' or state ~= 'done') then redis.call('HDEL', unique, digest) end
for i = 18, #KEYS do
  if ARGV[i - 9] == 'own' then
    redis.call('UNLINK', KEYS[i])
  elseif ARGV[i - 9] == 'completion' then
    redis.call('LPUSH', KEYS[i], state .. ' ' .. id)
    redis.call('LTRIM', KEYS[i], 0, 999999) -- nobody may read it
    redis.call('PEXPIRE', KEYS[i], 7 * 24 * 3600 * 1000)
  elseif ARGV[i - 9] == 'object' then
    redis.call('SREM', KEYS[i], id)
  elseif ARGV[i - 9]:find('^ready ') then
    local name = ARGV[i - 9]:sub(7)
    if redis.call('LLEN', place) == 0 and lined(turns, turning, name) == 0 then redis.call('SREM', KEYS[i], name) end
  elseif ARGV[i - 9] ~= 'ended' and not said then -- where it was said before, its details are kept
    -- PRELUDE weight
    -- PRELUDE remember
    remember(KEYS[i - 1], KEYS[i], { id, ARGV[i - 9]:sub(9), keep }, time)
  end
end
return roomy and 'roomy' or 'ended'
