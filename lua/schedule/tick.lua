-- schedule/tick: moves a schedule on to its next tick, and stores the jobs of that tick.
--
-- Many workers may send the same tick, or send it again: the last tick must still be the one that the sender saw, so it
-- is taken once. The schedule must read as it did, so a tick of what was changed, paused or removed meanwhile is not. A
-- tick is never ahead of Redis' clock, and a sender whose idea of that clock is wrong is told the time: it may have
-- judged wrongly what was missed. As in enqueue, places come first and records later; the tick is noted last, and a job
-- that lives already is left alone.
--
-- KEYS[1] schedules, KEYS[2] ticks, KEYS[3] jobs, KEYS[4] queues, KEYS[5] ready, KEYS[6] scheduled, KEYS[7] names,
-- KEYS[8] control, KEYS[9] morgue, KEYS[10] queue:<name>, KEYS[11] wake:<name>
-- ARGV[1] schedule
-- ARGV[2] SHA-1 of its definition as it was read
-- ARGV[3] its entry in ticks as it was read: ms of the last tick and id of its job; empty where there is none
-- ARGV[4] ms of the tick
-- ARGV[5] ms of Redis' clock as the sender knows it; 0 where it judged nothing by it
-- ARGV[6] allow, or skip: store nothing while the last job lives, and is not dead
-- ARGV[7] name of the queue
-- ARGV[8..] id, ms when it is due and record of each job, the last one last
-- RETURNS {state, ms, entry in ticks}. stored; skipped; done: by this call before, or by another worker; first: the
--   schedule had no entry, its ticks begin now; moved: the entry is another one; gone: the definition is; clock: too
--   early
-- FIRST WRITE LPUSH, ZADD or HSET: a full Redis refuses it, as it refuses every new job; the tick comes later then
local schedules, ticks, jobs, queues, ready, scheduled, names, control, morgue, queue, tokens = unpack(KEYS)
local schedule, digest, seen, tick, judged, overlap, name = unpack(ARGV, 1, 7)

local refusal = bad('HLEN', schedules) or bad('HLEN', ticks) or bad('HLEN', jobs) or bad('ZCARD', queues)
  or bad('SCARD', ready) or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('ZCARD', morgue) or bad('LLEN', queue)
if refusal then return refusal end

local time, last = now(), redis.call('HGET', ticks, schedule) or ''
local definition = redis.call('HGET', schedules, schedule)
if not definition or redis.sha1hex(definition) ~= digest then return { 'gone', ms(time), last } end
if last ~= seen then return { last:match('^%d+') == tick and 'done' or 'moved', ms(time), last } end
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

local newest = former
for i = 8, #ARGV, 3 do
  local id, due = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', jobs, id) == 0 then
    if tonumber(due) > time then
      schedule_later(id, due)
    else
      redis.call('LPUSH', queue, id)
      redis.call('SADD', ready, name)
      wake(tokens, 1)
    end
    redis.call('ZADD', queues, 'NX', ms(time), name)
    redis.call('HSET', jobs, id, ARGV[i + 2])
  end
  newest = id
end
return note('stored', newest)
