-- schedule/tick: moves a schedule on to its next tick, and stores the jobs of that tick.
--
-- Many workers may send the same tick, or send it again: the last tick must still be the one that the sender saw, so it
-- is taken once. The schedule must read as it did, so a tick of what was changed, paused or removed meanwhile is not. A
-- tick is never ahead of Redis' clock, and a sender whose idea of that clock is wrong is told the time: it may have
-- judged wrongly what was missed. As in enqueue, places come first and records later; the tick is noted last, and a job
-- that lives already is left alone.
--
-- KEYS[1] schedules, KEYS[2] ticks, KEYS[3] jobs, KEYS[4] queues, KEYS[5] ready, KEYS[6] scheduled, KEYS[7] names,
-- KEYS[8] control, KEYS[9] morgue, KEYS[10] queue:<name>, KEYS[11] wake:<name>,
-- KEYS[12] lanes, KEYS[13] tracked, KEYS[14] turns, KEYS[15] passes, KEYS[16] turning, KEYS[17] keyed
-- ARGV[1] schedule
-- ARGV[2] SHA-1 of its definition as it was read
-- ARGV[3] its entry in ticks as it was read: ms of the last tick and id of its job; empty where there is none
-- ARGV[4] ms of the tick
-- ARGV[5] ms of Redis' clock as the sender knows it; 0 where it judged nothing by it
-- ARGV[6] allow, or skip: store nothing while the last job lives, and is not dead
-- ARGV[7] name of the queue
-- ARGV[8] version of the map of the partitions by which the sender goes, 0 where it knows none
-- ARGV[9] 1: the jobs are tracked: listed for who moves what is bound
-- ARGV[10] weight and key of the jobs, empty where they have none
-- ARGV[11..] id, ms when it is due and record of each job, the last one last
-- RETURNS {state, ms, entry in ticks}. stored; skipped; done: by this call before, or by another worker; first: the
--   schedule had no entry, its ticks begin now; moved: the entry is another one; gone: the definition is; clock: too
--   early. The error ROUTE with the version of a newer map, where it would be moved on
-- FIRST WRITE LPUSH, ZADD or HSET: a full Redis refuses it, as it refuses every new job; the tick comes later then
local schedules, ticks, jobs, queues, ready, scheduled, names, control, morgue, queue, tokens,
  lanes, tracked, turns, passes, turning, keyed = unpack(KEYS)
local schedule, digest, seen, tick, judged, overlap, name, map, tracks, known = unpack(ARGV, 1, 10)

local refusal = bad('HLEN', schedules) or bad('HLEN', ticks) or bad('HLEN', jobs) or bad('ZCARD', queues)
  or bad('SCARD', ready) or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('ZCARD', morgue) or bad('LLEN', queue)
  or tracks == '1' and bad('LLEN', tracked) or known ~= '' and (bad('ZCARD', turns) or bad('ZCARD', passes)
  or bad('HLEN', turning) or bad('HLEN', keyed))
if refusal then return refusal end

local time, last = now(), redis.call('HGET', ticks, schedule) or ''
local definition = redis.call('HGET', schedules, schedule)
if not definition or redis.sha1hex(definition) ~= digest then return { 'gone', ms(time), last } end
if last ~= seen then return { last:match('^%d+') == tick and 'done' or 'moved', ms(time), last } end
refusal = elsewhere(redis.call('HGET', lanes, ''), map)
if refusal then return refusal end
if last == '' then
  redis.call('HSET', ticks, schedule, ms(time) .. ' ')
  return { 'first', ms(time), ms(time) .. ' ' }
end
judged = tonumber(judged)
if tonumber(tick) > time or judged > 0 and (judged > time + 1000 or judged < time - 10000) then
  return { 'clock', ms(time), last }
end

local function note(state, id)
  local entry = tick .. ' ' .. id
  redis.call('HSET', ticks, schedule, entry)
  return { state, ms(time), entry }
end

local seen = {}
local function schedule_later(id, due)
  redis.call('ZADD', scheduled, turn(scheduled, tonumber(due), id, seen), id)
  redis.call('HSET', names, id, name)
  if redis.call('ZRANGE', scheduled, 0, 0)[1] == id then
    -- PRELUDE tell
    tell(control, 'due')
  end
end

local former = last:match('^%d+ (.*)$') or ''
if overlap == 'skip' and former ~= '' and redis.call('HEXISTS', jobs, former) == 1
  and not redis.call('ZSCORE', morgue, former) then
  return note('skipped', former)
end

-- ASK HGETALL HSET LPUSH RPUSH SADD ZADD ZMSCORE ZRANGE
local newest = former
local weight, key = known:match('^(%d+) (.*)$')
for i = 11, #ARGV, 3 do
  local id, due = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', jobs, id) == 0 then
    if tonumber(due) > time then
      schedule_later(id, due)
    else
      if not key or not line_up(turns, passes, turning, name, { id, key, weight }) then
        redis.call('LPUSH', queue, id)
      end
      redis.call('SADD', ready, name)
      wake(tokens, 1)
    end
    if redis.call('ZADD', queues, 'NX', ms(time), name) == 1 and name:find('\31', 1, true) then
      -- PRELUDE tell
      tell(control, 'needs ' .. name)
    end
    if key then redis.call('HSET', keyed, id, known) end
    if tracks == '1' then redis.call('RPUSH', tracked, id .. '\0\0' .. name .. (key and '\0' .. key or '')) end
    redis.call('HSET', jobs, id, ARGV[i + 2])
  end
  newest = id
end
return note('stored', newest)
