-- flow/add: adds a member to a flow that runs, on behalf of another one that has not ended: so the flow cannot end
-- meanwhile. A member of that name is there once: whoever adds it again, in another attempt, changes nothing.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control
-- KEYS[18] unique, KEYS[19] foreign
-- KEYS[20..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue, which is that of the new member
-- ARGV[1] id of the flow
-- ARGV[2] the member that adds it
-- ARGV[3] its name
-- ARGV[4] its queue, and ARGV[5] its record; or both parts of the text of a special one, or of one that is at home in
--   another partition, as in flow/store
-- ARGV[6..] names of members that it waits for, at most 100
-- RETURNS running: it is there; over: it is not, and the flow or the member that adds has ended, or the flow is being
--   cancelled; unknown, with the name of one to wait for that there is not; living, with the id of a job that is in the
--   way; locked, with a 1, and the id of the job that has its lock; or gone
-- FIRST WRITE HSET, refused at full memory as is all that stores what is new
local id, adder, name, queue, record = unpack(ARGV, 1, 5)
local special, away = queue:byte(1) == 30, queue:byte(1) == 29
local f = flow_of({ unpack(KEYS, 1, 17) }, 19, (special or away) and {} or { queue })
local refusal = flow_bad(f) or bad('HLEN', KEYS[18]) or bad('HLEN', KEYS[19])
if refusal then return refusal end
local state = flow_read(f)
if not state then return 'gone' end
-- First: this may be sent again as its reply was lost, and the adder, or the flow, have ended since.
if redis.call('HEXISTS', f.members, name) == 1 then return 'running' end
if state ~= 'running' or f.cancel or redis.call('SISMEMBER', f.left, adder) == 0 then return 'over' end

local waits, cancelled = {}, false
for i = 6, #ARGV do
  local left, ended = redis.call('SISMEMBER', f.left, ARGV[i]) == 1, redis.call('ZSCORE', f.ends, ARGV[i])
  if not left and not ended and redis.call('HEXISTS', f.members, ARGV[i]) == 0 then return 'unknown ' .. ARGV[i] end
  if left then waits[#waits + 1] = ARGV[i] end
  cancelled = cancelled or ended
end
if redis.call('HEXISTS', f.jobs, id .. '/' .. name) == 1 then return 'living ' .. id .. '/' .. name end

-- ASK HDEL HINCRBY
local taken = {}
if special then
  local time = now()
  record = record:gsub('^%+(%d+)', function(delay) return ms(time + delay) end)
  -- PRELUDE alive
  -- PRELUDE flow_reserve
  local owner = flow_reserve(f.jobs, KEYS[18], KEYS[19], taken, id .. '/' .. name, queue .. '\n' .. record, time)
  if owner then return 'locked 1 ' .. owner end
  redis.call('HSET', f.flow, 'special', '1')
end

redis.call('HSET', f.members, name, queue:match('^\30?(.*)$'))
redis.call('HINCRBY', f.flow, 'total', 1)
redis.call('HSET', f.records, name, away and '\n' or queue .. '\n' .. record)
if away then redis.call('HSET', f.flow, 'away', '1') end
for i = 6, #ARGV do redis.call('ZADD', f.edges, 0, ARGV[i] .. '\n' .. name .. '\ncancel') end
if cancelled then
  redis.call('ZADD', f.ends, 2, name)
  return 'running'
end
redis.call('SADD', f.left, name)
for digest, lock in pairs(taken) do redis.call('HSET', KEYS[18], digest, lock) end
f.open, f.waits = f.open + 1, f.waits + #waits
for _, from in ipairs(waits) do redis.call('ZADD', f.unmet, 0, name .. '\n' .. from) end
flow_step(f, #waits == 0 and { 'r' .. name } or {})
return 'running'
