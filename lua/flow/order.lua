-- flow/order: has a member that flow/lodge has stored obey the flow that it is in, and says how far it is. What comes
-- late, twice or from a former generation of that flow changes nothing.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flows:away, KEYS[19] unique
-- KEYS[20..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue: of that of its job, if it is known
-- ARGV[1] id of the member
-- ARGV[2] look; hold: it belongs to that generation, and waits for its turn; begin; cancel; told: its flow has counted
--   its end; or remove
-- ARGV[3] when its flow was stored first, in ms, and ARGV[4] the generation of that, by which the order is given
-- ARGV[5] with told: how it has ended, as its flow has counted it. It may have been retried by hand since, and have
--   ended otherwise: then its flow is still to hear of that
-- ARGV[6..] the name of that queue
-- RETURNS {state: held, running, reopening, done, dead, cancelled or gone; when its flow was stored; the generation
--   that it belongs to; how it has ended, done or otherwise, empty where it has not; its result; the
--   queue of its job; 1 where something is left to be done here: see flow/advance}
-- FIRST WRITE HDEL (of a field that is never there)
local f, away, unique = flow_of({ unpack(KEYS, 1, 17) }, 19, { ARGV[6] }), KEYS[18], KEYS[19]
local id, order, made, generation = unpack(ARGV, 1, 4)
local refusal = flow_bad(f) or bad('ZCARD', away) or bad('HLEN', unique)
if refusal then return refusal end
if order == 'remove' then
  -- ASK UNLINK
end

local name, time = '@job', now()
local state, of = flow_read(f), redis.call('HMGET', f.flow, 'made', 'of')
redis.call('HDEL', f.flow, '')
if not state or not of[1] then
  redis.call('ZREM', away, id)
  if not state then redis.call('ZREM', f.busy, id) end
  return { 'gone', made, generation, '', '', '', 0 }
end
local told = false -- whether its flow knows how it has ended
local function is_over() return f.state == 'done' or f.state == 'dead' or f.state == 'cancelled' end

-- ending says how it has ended; empty where it has not.
local function ending()
  if not is_over() then return '' end
  local ends = { 'dead', 'cancelled', 'discarded', 'expired', 'deleted' }
  local score = redis.call('ZSCORE', f.ends, name)
  return score and ends[tonumber(score)] or f.state == 'done' and 'done' or 'cancelled'
end

-- unlock frees the lock of one that is not to run.
local function unlock()
  local text = redis.call('HGET', f.records, name) or ''
  local digest = text:byte(1) == 30 and text:match('^[^\n]*\n%S+ %S+ %S+ (%S+)')
  -- PRELUDE free
  if digest then free(unique, id .. '/' .. name, digest) end
end

local obeys = made == of[1] and tonumber(generation) >= tonumber(of[2])
if order ~= 'look' and obeys and tonumber(generation) > tonumber(of[2]) then
  redis.call('HSET', f.flow, 'of', generation, 'again', '1') -- again: it may be opened once more
  of[2] = generation
end
if order == 'begin' and obeys then
  if state == 'reopening' and redis.call('ZSCORE', f.ends, name) then
    f.state = 'dead' -- who opened it was forgotten by a failover half-way
    redis.call('HSET', f.flow, 'state', 'dead')
  elseif state == 'held' or state == 'reopening' then
    f.state = 'running'
    redis.call('HSET', f.flow, 'state', 'running', 'sealed', ms(time))
    redis.call('HDEL', f.flow, 'again', 'cancel')
    f.cancel = nil
    flow_step(f, state == 'reopening' and { 'r' .. name } or {})
  end
elseif order == 'cancel' and obeys and state == 'held' then
  unlock()
  redis.call('SREM', f.left, name)
  redis.call('ZADD', f.ends, 2, name)
  redis.call('HSET', f.flow, 'state', 'cancelled', 'ended', ms(time))
  f.state = 'cancelled'
elseif order == 'cancel' and obeys and state == 'running' then
  if not f.cancel then redis.call('HSET', f.flow, 'cancel', '1') end
  f.cancel = f.cancel or '1'
  redis.call('ZADD', f.busy, 'NX', ms(time), id)
  tell(f.control, 'flows')
elseif order == 'told' and obeys and is_over() and ending() == ARGV[5] then
  redis.call('ZREM', f.busy, id)
  told = true
elseif order == 'remove' and obeys and state ~= 'running' then
  unlock()
  redis.call('UNLINK', unpack(KEYS, 1, 9))
  redis.call('ZREM', f.busy, id)
  redis.call('ZREM', away, id)
  return { 'gone', made, generation, '', '', '', 0 }
end
local at = tonumber(redis.call('ZSCORE', away, id) or 4e15)
local seen = (told or at < 4e15 and is_over()) and time or 4e15 + time
if seen < at or seen - at > 60000 then redis.call('ZADD', away, ms(seen), id) end -- a call twice changes nothing

local how = ending()
local result = how == 'done' and redis.call('HGET', f.results, name) or ''
local more = f.state == 'running' and (f.pending > 0 or f.cancel or f.open == 0)
return { f.state, of[1], of[2], how, result, redis.call('HGET', f.members, name) or '', more and 1 or 0 }
