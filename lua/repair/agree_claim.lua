-- repair/agree_claim: makes an element of an in-process list and the index of claims agree. An element that nobody
-- claims becomes a claim of its worker; of a worker that nobody knows, it goes back to the front of its queue; and if
-- its job is in another place too, or has no record, only the element is removed.
--
-- KEYS[1] worker:<id>:inprocess:<name>, KEYS[2] claimed, KEYS[3] jobs, KEYS[4] workers, KEYS[5] dead,
-- KEYS[6] worker:<id>, KEYS[7] scheduled, KEYS[8] retry, KEYS[9] morgue, KEYS[10] ready, KEYS[11] queue:<name>,
-- KEYS[12] wake:<name>, KEYS[13] worker:<id>:inprocess:<name>, KEYS[14] stalled, KEYS[15] turns,
-- KEYS[16] turning, KEYS[17] keyed
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] worker
-- ARGV[3] queue
-- ARGV[4] element
-- ARGV[5] claim of the job as it was read, whose list is the last key; empty where there was none
-- ARGV[6] element of that claim, empty where it could not be read
-- ARGV[7] how far from the ends of the queue is looked
-- RETURNS ok, unclaimed, elsewhere, ghost (no record) or stray (a worker that nobody knows)
-- FIRST WRITE LREM
local list, claimed, jobs, workers, dead, heart, scheduled, retry, morgue, ready, queue, tokens, other, stalled,
  turns, turning, keyed = unpack(KEYS)
local mend, worker, name, element, read, otherElement, reach = unpack(ARGV)

local refusal = bad('LLEN', list) or bad('HLEN', claimed) or bad('HLEN', jobs) or bad('SCARD', workers)
  or bad('SCARD', dead) or bad('ZCARD', scheduled) or bad('ZCARD', retry) or bad('ZCARD', morgue) or bad('SCARD', ready)
  or bad('LLEN', queue) or bad('LLEN', other) or bad('ZCARD', stalled) or bad('ZCARD', turns)
  or bad('HLEN', turning) or bad('HLEN', keyed)
if refusal then return refusal end

local number, id = element:match('^(%d+):(.*)$')
local claim = id and redis.call('HGET', claimed, id) or ''
local known = redis.call('SISMEMBER', workers, worker) == 1 or redis.call('SISMEMBER', dead, worker) == 1
local mine = number and claim:find(worker .. ' ' .. number .. ' ', 1, true) == 1
if not redis.call('LPOS', list, element) or claim ~= read or known and mine then return 'ok' end
if not known and redis.call('PTTL', heart) >= 0 then return 'ok' end -- it was fenced, and is about to notice

local function placed()
  return otherElement ~= '' and not mine and redis.call('LPOS', other, otherElement)
    or redis.call('ZSCORE', scheduled, id) or redis.call('ZSCORE', retry, id) or redis.call('ZSCORE', morgue, id)
    or redis.call('ZSCORE', stalled, id) or redis.call('ZSCORE', turns, id)
    or redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach)
    or redis.call('LPOS', queue, id, 'RANK', 1, 'MAXLEN', reach)
end

local what = known and 'unclaimed' or 'stray'
if not id or redis.call('HEXISTS', jobs, id) == 0 then
  what = 'ghost'
elseif placed() then
  what = 'elsewhere'
end
if mend ~= '1' then return what end

-- ASK HDEL HGETALL HSET RPUSH SADD TIME
if what ~= 'unclaimed' then redis.call('LREM', list, 0, element) end
if mine then redis.call('HDEL', claimed, id) end
if what == 'unclaimed' then
  redis.call('HDEL', claimed, id)
  redis.call('HSET', claimed, id, worker .. ' ' .. number .. ' ' .. ms(now()) .. ' ' .. name)
elseif what == 'stray' then
  if not mine then redis.call('HDEL', claimed, id) end
  if redis.call('HEXISTS', keyed, id) == 1 then assign(turning, name) end -- so that a fetch looks at its key
  redis.call('RPUSH', queue, id)
  redis.call('SADD', ready, name)
  wake(tokens, 1)
end
return what
