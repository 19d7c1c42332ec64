-- inspect/move: takes a job that no worker holds from the place where it was seen and puts it into another, if it still
-- stands there.
--
-- Whoever moves a job by hand has looked before, and workers and daemons went on meanwhile. On a shelf the job must
-- have the score with which it was seen, to the ms: one that was fetched, has failed and is back there stands with
-- another one. In a queue it is looked for near both ends only: to walk over a long one would hold Redis up. A job
-- whose lock was freed when it was buried takes it again when it leaves the morgue, and stays there while another job
-- of its kind lives. One that has a key goes to the back of its queue by waiting by turns; if it has kept the place of
-- its key meanwhile it comes next. One that goes from its queue to a shelf gives the place to another job, and so does
-- one from a shelf, unless its key is ordered, and waits for such jobs.
--
-- KEYS[1] claimed, KEYS[2] jobs, KEYS[3] names, KEYS[4] trail, KEYS[5] ready, KEYS[6] control, KEYS[7] limits,
-- KEYS[8] cancelled, KEYS[9] queue:<name>, KEYS[10] wake:<name>, KEYS[11] running:<name>, KEYS[12] rate:<name>,
-- KEYS[13] queue:<name>, turns, scheduled, retry, morgue or stalled,
-- KEYS[14] queue:<name>, scheduled, retry, morgue or stalled, KEYS[15] unique, KEYS[16] foreign, KEYS[17] turns,
-- KEYS[18] passes, KEYS[19] turning, KEYS[20] keyed, KEYS[21] parked, KEYS[22] holding, KEYS[23] keyrules,
-- KEYS[24] pacing, KEYS[25] waking, KEYS[26] ready
-- ARGV[1] id
-- ARGV[2] queue
-- ARGV[3] score with which it stands on the shelf it comes from; empty where it comes from its queue
-- ARGV[4] where in the 14th key it goes: back, front (of the queue), now or ms (the score on the shelf)
-- ARGV[5] new trail; empty leaves the one that is there
-- ARGV[6] how far from the ends of a queue is looked
-- ARGV[7] digest of the lock that it takes, empty where there is none
-- ARGV[8] 1: it goes to the morgue
-- RETURNS moved; gone: it does not stand there; held: a worker has it; cancelled: it is to end so; far: it may stand in
--   the middle of the queue; unique: with the id of the job that has the lock behind it
-- FIRST WRITE HDEL (of a field that is never there)
local claimed, jobs, names, trail, ready, control, limits, cancelled, queue, tokens, running, rate, from, to, unique,
  foreign = unpack(KEYS)
local id, name, score, place, news, reach, digest, dead = unpack(ARGV)
local lines = lines_at(17)

local shelved, requeued = score ~= '', place == 'back' or place == 'front'
local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('HLEN', names) or bad('HLEN', trail)
  or bad('SCARD', ready)
  or bad('HLEN', limits) or bad('SCARD', cancelled) or bad('LLEN', queue) or bad(shelved and 'ZCARD' or 'LLEN', from)
  or bad(requeued and 'LLEN' or 'ZCARD', to) or bad('HLEN', unique) or bad('HLEN', foreign)
  or bad('ZCARD', lines.turns) or bad('ZCARD', lines.passes) or unsound(lines)
if refusal then return refusal end

if redis.call('HEXISTS', jobs, id) == 0 then return 'gone' end
if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
local owner = redis.call('HGET', names, id)
if owner and (not shelved or owner ~= name) then return 'gone' end
if redis.call('SISMEMBER', cancelled, id) == 1 then return 'cancelled' end

-- other is the job that has the lock, as an enqueue sees it.
local function other()
  local holder, ends, kind = (redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
  if not holder or holder == id or ends ~= '0' and tonumber(ends) <= now() then return end
  if kind == 't' or alive(jobs, foreign, holder) then return holder end
end

-- leave takes the job out of its place.
local function leave()
  if shelved then
    local stands = redis.call('ZSCORE', from, id)
    if not stands or math.floor(tonumber(stands)) ~= math.floor(tonumber(score)) then return 'gone' end
    redis.call('ZREM', from, id)
    if from == lines.turns then
      unpark(lines, id, stands, redis.call('HGET', lines.keyed, id))
      close_up(lines, line(lines.turning, name), name)
    end
    return 'moved'
  end
  local newest = redis.call('LPOS', from, id, 'MAXLEN', reach)
  if newest or redis.call('LPOS', from, id, 'RANK', -1, 'MAXLEN', reach) then
    redis.call('LREM', from, newest and 1 or -1, id)
    return 'moved'
  end
  return redis.call('LLEN', from) > tonumber(reach) and 'far' or 'gone'
end
-- ASK GET HGETALL HMGET HSET LPOS LPUSH LREM RPUSH SADD SREM TIME UNLINK ZADD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE
-- ASK ZREM ZSCORE
redis.call('HDEL', names, '')
local taken = digest ~= '' and redis.call('ZSCORE', from, id) and other()
if taken then return 'unique:' .. taken end
local left = leave()
if left ~= 'moved' then return left end
if digest ~= '' then redis.call('HSET', unique, digest, id .. ' 0 f') end

if news ~= '' then redis.call('HSET', trail, id, news) end
if requeued then
  redis.call('HDEL', names, id)
  local weight, key = (redis.call('HGET', lines.keyed, id) or ''):match('^(%d+) (.*)$')
  if key and place == 'front' then
    assign(lines.turning, name) -- so that a fetch looks at its key
    key = nil
  end
  local rest = key and first_in_line(lines, name, { id, key, weight }) or { id }
  if #rest > 0 and not (key and line_up(lines.turns, lines.passes, lines.turning, name, rest)) then
    redis.call(place == 'back' and 'LPUSH' or 'RPUSH', to, id)
  end
  redis.call('SADD', ready, name)
  summon(limits, name, tokens, running, rate, 1)
  return 'moved'
end
redis.call('ZADD', to, turn(to, place == 'now' and now() or tonumber(place), id, {}), id)
redis.call('HSET', names, id, name)
if place ~= 'now' and redis.call('ZRANGE', to, 0, 0)[1] == id then
  -- PRELUDE tell
  tell(control, 'due')
end
if withdraw(lines, name, id, shelved and from ~= lines.turns, dead == '1') then
  summon(limits, name, tokens, running, rate, 1)
elseif rests(queue, lines, name) then
  redis.call('SREM', ready, name)
  redis.call('UNLINK', tokens)
end
return 'moved'
