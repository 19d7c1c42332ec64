-- inspect/again: stores a job that does again what one did that has ended, and notes that with what is kept of it.
--
-- Both are done or none, so that a job is enqueued again once, however often and however late that is sent: who comes
-- second finds the note. The caller has read how the former job ended and what is kept of it. Where that is not so any
-- more, or the id lives again, nothing is done. The new job takes the lock that its record names, unless it is one for
-- a time: such a lock is not taken, and where the former job still has it that does not keep it from being enqueued
-- again by hand.
--
-- KEYS[1] jobs, KEYS[2] queues, KEYS[3] ready, KEYS[4] limits, KEYS[5] outcomes, KEYS[6] details:<state>:<name>,
-- KEYS[7] unique, KEYS[8] objects, KEYS[9] queue:<name>, KEYS[10] wake:<name>, KEYS[11] running:<name>,
-- KEYS[12] rate:<name>, KEYS[13] lanes, KEYS[14] foreign, KEYS[15] turns, KEYS[16] passes, KEYS[17] turning,
-- KEYS[18] keyed
-- KEYS[19..] object:<sha>:jobs of each object
-- ARGV[1] id of the former job
-- ARGV[2] how its outcome begins
-- ARGV[3] its details, as they were read
-- ARGV[4] its details with the note
-- ARGV[5] id of the new job
-- ARGV[6] its record
-- ARGV[7] name of the queue
-- ARGV[8] digest of the lock, empty where there is none
-- ARGV[9] kind of the lock
-- ARGV[10] version of the map of the partitions by which its caller goes, 0 where it knows none
-- ARGV[11] weight and key, empty where it has none
-- ARGV[12..] sha of each object
-- RETURNS stored, also where this very call had stored it before; changed: it has not ended so any more;
--   unique: with the id of the job that has the lock behind it; noobject: with the sha of the object that is gone.
--   The error ROUTE with the version of a newer map: the job may belong elsewhere
-- FIRST WRITE HSET, LPUSH or ZADD, refused at full memory as is all that stores what is new
local jobs, queues, ready, limits, outcomes, details, unique, objects, queue, tokens, running, rate,
  lanes, foreign, turns, passes, turning, keyed = unpack(KEYS, 1, 18)
local former, beginning, seen, marked, id, record, name, digest, kind, map, known = unpack(ARGV, 1, 11)

local refusal = bad('HLEN', jobs) or bad('ZCARD', queues) or bad('SCARD', ready) or bad('HLEN', outcomes)
  or bad('HLEN', details) or bad('HLEN', unique) or bad('ZCARD', objects) or bad('LLEN', queue)
  or bad('HLEN', foreign) or bad('ZCARD', turns) or bad('ZCARD', passes) or bad('HLEN', turning) or bad('HLEN', keyed)
for i = 19, #KEYS do refusal = refusal or bad('SCARD', KEYS[i]) end
if refusal then return refusal end

local kept = redis.call('HGET', details, former)
if kept == marked then return 'stored' end
refusal = elsewhere(redis.call('HGET', lanes, ''), map)
if refusal then return refusal end
local outcome = redis.call('HGET', outcomes, former) or ''
if kept ~= seen or outcome:sub(1, #beginning) ~= beginning or redis.call('HEXISTS', jobs, former) == 1 then
  return 'changed'
end
for i = 12, #ARGV do
  if not redis.call('ZSCORE', objects, ARGV[i]) then return 'noobject:' .. ARGV[i] end
end
if digest ~= '' then
  local owner, ends, held = (redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
  if owner and owner ~= former and (ends == '0' or tonumber(ends) > now())
    and (held == 't' or alive(jobs, foreign, owner)) then
    return 'unique:' .. owner
  end
end

-- ASK GET HMGET HSET SADD TIME ZADD ZMSCORE
local weight, key = known:match('^(%d+) (.*)$')
if not key or not line_up(turns, passes, turning, name, { id, key, weight }) then redis.call('LPUSH', queue, id) end
if key then redis.call('HSET', keyed, id, known) end
redis.call('ZADD', queues, 'NX', ms(now()), name)
redis.call('SADD', ready, name)
summon(limits, name, tokens, running, rate, 1)
if digest ~= '' and kind ~= 't' then redis.call('HSET', unique, digest, id .. ' 0 ' .. kind) end
for i = 19, #KEYS do redis.call('SADD', KEYS[i], id) end
local bytes = (tonumber(redis.call('HGET', details, '') or 0) or 0) + #marked - #seen
redis.call('HSET', details, former, marked, '', ms(math.max(0, bytes)))
redis.call('HSET', jobs, id, record)
return 'stored'
