-- inspect/lookup: tells where one job stands and, of one that waits in a queue, what it waits for, all as of one
-- moment.
--
-- A job goes from place to place all the time: asked about them one after the other, it might be seen in none, or in
-- two. The caller read beforehand which queue is the job's and who holds it. Where that is no longer so, the check-in
-- or the position cannot be told; the place is right all the same.
--
-- KEYS[1] jobs, KEYS[2] trail, KEYS[3] crashes, KEYS[4] outcomes, KEYS[5] claimed, KEYS[6] names, KEYS[7] scheduled,
-- KEYS[8] retry, KEYS[9] morgue, KEYS[10] stalled, KEYS[11] cancelled, KEYS[12] limits, KEYS[13] workers,
-- KEYS[14] queue:<name>, KEYS[15] running:<name>, KEYS[16] rate:<name>, KEYS[17] worker:<id>,
-- KEYS[18] worker:<id>:running, KEYS[19] turns
-- KEYS[20..] worker:<id>:queues of each worker that may serve the queue
-- ARGV[1] id
-- ARGV[2] queue
-- ARGV[3] worker that held the job, empty where none did
-- ARGV[4] how far from the ends of the queue is looked
-- RETURNS {place (claimed, scheduled, retry, morgue, stalled, queue, nowhere, ended: it has no record but an outcome;
--   gone), ms, record, trail, crashes, outcome, 1 if its cancellation is wanted, queue by its claim or its shelf}, and
--   then
--   claimed: claim, check-in or false, 1 if that worker has a heartbeat
--   a shelf: score
--   queue: how many jobs are before it (-1: more than is looked), 1 if all is paused, its rule or false, how many run,
--   in how many ms a rate leaves room or false, 1 if somebody serves it or that could not be seen. Of one that waits
--   by turns those before it are those with a lower pass, and its own follows
-- FIRST WRITE none
local jobs, trail, crashes, outcomes, claimed, names, scheduled, retry, morgue, stalled, cancelled, limits, workers =
  unpack(KEYS, 1, 13)
local queue, running, rate, heart, checkins, turns = unpack(KEYS, 14, 19)
local id, name, worker, reach = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local refusal = bad('HLEN', jobs) or bad('HLEN', trail) or bad('HLEN', crashes) or bad('HLEN', outcomes)
  or bad('HLEN', claimed) or bad('HLEN', names) or bad('ZCARD', scheduled) or bad('ZCARD', retry)
  or bad('ZCARD', morgue) or bad('ZCARD', stalled) or bad('SCARD', cancelled) or bad('HLEN', limits)
  or bad('SCARD', workers) or bad('LLEN', queue) or bad('SCARD', running) or bad('ZCARD', turns)
if refusal then return refusal end

local record, outcome = redis.call('HGET', jobs, id), redis.call('HGET', outcomes, id)
local function answer(place, owner, ...)
  return { place, ms(now()), record, redis.call('HGET', trail, id), redis.call('HGET', crashes, id), outcome,
    redis.call('SISMEMBER', cancelled, id), owner, ... }
end
if not record then return answer(outcome and 'ended' or 'gone', false) end

local claim = redis.call('HGET', claimed, id)
if claim then
  local known = worker ~= '' and claim:find(worker .. ' ', 1, true) == 1
  local said = known and redis.pcall('HGET', checkins, id)
  local alive = not known or redis.call('EXISTS', heart) == 1
  return answer('claimed', claim:match('^%S+ %d+ [%d.]+ (.+)$') or false, claim, type(said) == 'string' and said,
    alive and 1 or 0)
end
for at, shelf in ipairs({ scheduled, retry, morgue, stalled }) do
  local score = redis.call('ZSCORE', shelf, id)
  if score then
    return answer(({ 'scheduled', 'retry', 'morgue', 'stalled' })[at], redis.call('HGET', names, id), score)
  end
end

-- ahead is how many jobs are before it, -1 where that is not known, nil where it is not in the queue.
local function ahead()
  local pass = redis.call('ZSCORE', turns, id)
  if pass then return redis.call('ZCOUNT', turns, ms(math.floor(pass / 2 ^ 42) * 2 ^ 42), '(' .. pass), pass end
  local length = redis.call('LLEN', queue)
  local at = redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach)
    or length > reach and redis.call('LPOS', queue, id, 'MAXLEN', reach)
  if at then return length - 1 - at end
  if length > 2 * reach then return -1 end
end
local before, pass = ahead()
if not before then return answer('nowhere', false) end

local served = redis.call('SCARD', workers) > #KEYS - 19 -- then there are some that were not named
for i = 20, #KEYS do
  served = served or redis.pcall('SISMEMBER', KEYS[i], name) ~= 0
end
local everything, rule = unpack(redis.call('HMGET', limits, '', rule_name(name)))
local _, wait = room(limits, name, running, rate)
return answer('queue', false, before, everything and 1 or 0, rule, redis.call('SCARD', running),
  wait and math.ceil(wait / 1000) or false, served and 1 or 0, pass)
