-- job/end: ends one job, wherever it stands: held by a worker, waiting in a queue, or on a shelf. All that belongs to
-- it goes with it: what lies in Redis for it alone, its lock, its part in objects. How it ended and its id go to its
-- completion queue.
--
-- One that is to be cancelled ends so whoever ends it: who deletes it came too late. Where it was said before how it
-- has ended (keep_outcome.lua), that stays. The end of a member counts in its flow, and what waited for it goes on.
--
-- KEYS[1] claimed, KEYS[2] jobs, KEYS[3] trail, KEYS[4] crashes, KEYS[5] outcomes, KEYS[6] outcomes:until,
-- KEYS[7] limits, KEYS[8] cancelled, KEYS[9] waited, KEYS[10] done, KEYS[11] names, KEYS[12] unique,
-- KEYS[13] worker:<id>:inprocess:<name>, queue:<name>, turns, scheduled, retry, morgue or stalled,
-- KEYS[14] running:<name>, KEYS[15] turns, KEYS[16] passes, KEYS[17] turning, KEYS[18] keyed, KEYS[19] parked,
-- KEYS[20] holding, KEYS[21] keyrules, KEYS[22] pacing, KEYS[23] waking, KEYS[24] ready
-- KEYS[25..] log:<id> or state:<id> or steps:<id> or mail:<id> or completion:<name> or object:<sha>:jobs or
--   ready of each belonging; or ended:<state>:<name> and, next to it, details:<state>:<name>, where details are kept
--   with the outcome; and last, of a member, the 17 keys of its flow as flow/advance has them, and queue:<name>,
--   wake:<name>, running:<name>, rate:<name> of queues of which jobs may wait for it
-- ARGV[1] id
-- ARGV[2] kind of place: claim, queue or shelf
-- ARGV[3] element of the claim; of a shelf, and of turns, the score with which it must stand there, or empty
-- ARGV[4] how it ended: done, discarded, cancelled, deleted, expired
-- ARGV[5] ms to keep the outcome, 0 keeps none
-- ARGV[6] outcome
-- ARGV[7] digest of its lock, empty where it has none
-- ARGV[8] how far from the ends of a queue is looked
-- ARGV[9] name of the queue
-- ARGV[10..] of each key from the 25th: own (it is removed), completion, object, or ready with the name of the queue
--   that may be empty now; ended, and details with what they are; flow with its name in the flow and, behind a line
--   feed, its result, and then the names of those queues
-- RETURNS ended; roomy: so did it, and its queue may have room now, or its key has; gone: it does not stand there;
--   far: it may stand in the middle of the queue; held: a worker has it; or, where it ended otherwise, cancelled: it is
--   to end so; waited: somebody waits for its outcome, and none was sent along. Where its flow has ended too, a line
--   feed and that: see flow_finish
-- FIRST WRITE LREM or ZREM
local claimed, jobs, trail, crashes, outcomes, expiry, limits, cancelled, waited, done, names, unique, place, running =
  unpack(KEYS, 1, 14)
local id, kind, element, state, keep, outcome, digest, reach, queue = unpack(ARGV, 1, 9)
local lines = lines_at(15)

local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('HLEN', trail) or bad('HLEN', crashes)
  or bad('HLEN', outcomes) or bad('ZCARD', expiry) or bad('HLEN', limits) or bad('SCARD', cancelled)
  or bad('HLEN', waited) or bad('HLEN', names)
  or bad('HLEN', unique) or bad(kind == 'shelf' and 'ZCARD' or 'LLEN', place) or bad('SCARD', running)
  or place == lines.turns and bad('ZCARD', lines.passes) or unsound(lines)
local lengths = { completion = 'LLEN', object = 'SCARD', ready = 'SCARD', ended = 'ZCARD', details = 'HLEN' }
local last, has = #KEYS, {} -- of what is not a flow's
for i = 25, #KEYS do
  local what = ARGV[i - 15]
  if what:find('^flow ') then
    last = i - 1
    break
  end
  local kind_of = what:match('^%a+')
  has[kind_of] = true
  refusal = refusal or lengths[kind_of] and bad(lengths[kind_of], KEYS[i])
end
local f, raw
if last < #KEYS then
  -- PRELUDE flow_of
  -- PRELUDE flow_broken
  -- PRELUDE flow_denied
  -- PRELUDE flow_bad
  f = flow_of({ unpack(KEYS, last + 1, last + 17) }, last + 17, { unpack(ARGV, last - 13) })
  refusal = refusal or flow_bad(f)
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

local time, known = now(), redis.call('HGET', lines.keyed, id)
local owner, _, lock = (digest ~= '' and redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
raw = f and redis.call('HGET', jobs, id)
-- ASK HDEL SREM
-- ASK has.own: UNLINK
-- ASK has.completion: LPUSH LTRIM PEXPIRE
-- ASK has.details: PEXPIRE PTTL ZRANGE ZREM
-- ASK has.ready: ZCOUNT
-- ASK keep ~= '0': HSET ZADD
-- ASK known or place == lines.turns: HMGET SADD ZADD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE ZREM ZSCORE

-- leave takes the job out of its place.
local function leave()
  if kind == 'claim' then return redis.call('LREM', place, -1, element) == 1 and 'ended' or 'gone' end
  if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
  if kind == 'shelf' then
    local stands = tonumber(redis.call('ZSCORE', place, id) or -1)
    if element ~= '' and math.floor(stands) ~= math.floor(tonumber(element)) then return 'gone' end
    if place == lines.turns then
      -- PRELUDE spot
      -- PRELUDE unpark
      -- PRELUDE close_up
      if redis.call('ZREM', place, id) == 0 then return 'gone' end
      unpark(lines, id, stands, redis.call('HGET', lines.keyed, id))
      close_up(lines, line(lines.turning, queue), queue)
      return 'ended'
    end
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

for _, key in ipairs({ claimed, jobs, trail, crashes, names, lines.keyed }) do redis.call('HDEL', key, id) end
redis.call('SREM', cancelled, id)
local roomy = redis.call('SREM', running, id) == 1
if known then
  -- PRELUDE micros
  -- PRELUDE spot
  -- PRELUDE within
  -- PRELUDE key_rules
  -- PRELUDE pace
  -- PRELUDE rear
  -- PRELUDE grant
  -- PRELUDE vacate
  roomy = vacate(lines, queue, { id }, { known }) or roomy
end
if keep ~= '0' then
  redis.call('HSET', outcomes, id, outcome)
  redis.call('ZADD', expiry, ms(time + tonumber(keep)), id)
end
if waiter then
  redis.call('HDEL', waited, id)
  -- PRELUDE tell
  tell(done, id)
end
if owner == id and (lock ~= 't' or state ~= 'done') then redis.call('HDEL', unique, digest) end
for i = 25, last do
  if ARGV[i - 15] == 'own' then
    redis.call('UNLINK', KEYS[i])
  elseif ARGV[i - 15] == 'completion' then
    redis.call('LPUSH', KEYS[i], state .. ' ' .. id)
    redis.call('LTRIM', KEYS[i], 0, 999999) -- nobody may read it
    redis.call('PEXPIRE', KEYS[i], 7 * 24 * 3600 * 1000)
  elseif ARGV[i - 15] == 'object' then
    redis.call('SREM', KEYS[i], id)
  elseif ARGV[i - 15]:find('^ready ') then
    local name = ARGV[i - 15]:sub(7)
    if rests(place, lines, name) then redis.call('SREM', KEYS[i], name) end
  elseif ARGV[i - 15] ~= 'ended' and not said then -- where it was said before, its details are kept
    -- PRELUDE weight
    -- PRELUDE remember
    remember(KEYS[i - 1], KEYS[i], { id, ARGV[i - 15]:sub(9), keep }, time)
  end
end
if f then
  -- PRELUDE tell
  -- PRELUDE wake
  -- PRELUDE owed
  -- PRELUDE room
  -- PRELUDE summon
  -- PRELUDE flow_read
  -- PRELUDE flow_place
  -- PRELUDE flow_put
  -- PRELUDE flow_unlock
  -- PRELUDE flow_free
  -- PRELUDE flow_call
  -- PRELUDE flow_release
  -- PRELUDE flow_unpack
  -- PRELUDE flow_push
  -- PRELUDE flow_drop
  -- PRELUDE flow_visit
  -- PRELUDE flow_meet
  -- PRELUDE flow_finish
  -- PRELUDE flow_work
  -- PRELUDE flow_advance
  -- PRELUDE flow_step
  -- PRELUDE flow_end
  local name, result = ARGV[last - 14]:match('^flow ([^\n]*)\n(.*)$')
  local record = state ~= 'done' and raw and queue .. '\n' .. raw or nil
  local fresh = flow_end(f, { name }, { [name] = state ~= 'done' and state or nil },
    { [name] = state == 'done' and result ~= '' and result or nil }, { [name] = record })
  if f.state then flow_step(f, fresh) end
end
return (roomy and 'roomy' or 'ended') .. (f and f.told and '\n' .. f.told or '')
