-- flow/lodge: stores a member of a flow that is in another partition, since the member is at home here. It is kept as
-- a flow of one job, "@job", which is held until the other flow has it begin: see flow/order. It takes the lock that it
-- is to have. It may be sent again, by whoever stores the same flow: what is there already stays as it is, and nobody
-- looks at one that is held for another hour, so that it is named before it would go as one that its flow has not.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flows:away, KEYS[19] lanes,
-- KEYS[20] unique, KEYS[21] foreign
-- ARGV[1] id of the member
-- ARGV[2] number of the partition in which the flow is, and ARGV[3] of this one
-- ARGV[4] when the flow was stored first, in ms, and ARGV[5] its generation
-- ARGV[6] ms for which it is kept when it has ended
-- ARGV[7] version of the map of the partitions by which the caller goes, 0 where it knows none
-- ARGV[8] its text: see flow/store
-- RETURNS filling: it is there; other, with when that flow was stored and its generation: what is there belongs to
--   another flow of that id; living, with the id of a job that is in the way; or locked, with a 1, and the id of the
--   job that has its lock. Where a newer map is known here than its caller goes by, and it is not here, nothing is
--   done, and the error is ROUTE with its version
-- FIRST WRITE HSET or ZADD, refused at full memory as is all that stores what is new
local f, away, unique, foreign = flow_of({ unpack(KEYS, 1, 17) }, 21, {}), KEYS[18], KEYS[20], KEYS[21]
local id, home, at, made, generation, keep, map, text = unpack(ARGV, 1, 8)
local refusal = flow_bad(f) or bad('ZCARD', away) or bad('HLEN', KEYS[19]) or bad('HLEN', unique)
  or bad('HLEN', foreign)
if refusal then return refusal end

local name, known = '@job', redis.call('HMGET', f.flow, 'made', 'of', 'state')
if known[3] then
  if known[1] == made then
    local seen = 4e15 + now()
    if known[3] == 'held' and seen - (redis.call('ZSCORE', away, id) or seen) > 60000 then
      redis.call('ZADD', away, ms(seen), id) -- a call twice changes nothing
    end
    return 'filling'
  end
  return table.concat({ 'other', known[1] or '0', known[2] or '0' }, ' ')
end
local route = elsewhere(redis.call('HGET', KEYS[19], ''), map)
if route then return route end
local job = id .. '/' .. name
if redis.call('HEXISTS', f.jobs, job) == 1 then return 'living ' .. job end
local time, taken = now(), {}
if text:byte(1) == 30 then
  text = text:gsub('^([^\n]*\n)%+(%d+)', function(head, delay) return head .. ms(time + delay) end)
  -- PRELUDE alive
  -- PRELUDE flow_reserve
  local owner = flow_reserve(f.jobs, unique, foreign, taken, job, text, time)
  if owner then return 'locked 1 ' .. owner end
end
redis.call('HSET', f.flow, 'id', id, 'state', 'held', 'home', home, 'at', at, 'made', made, 'of', generation, 'created',
  ms(time), 'keep', keep, 'generation', '1', 'total', '1', 'edges', '0', 'digest', made)
if text:byte(1) == 30 then redis.call('HSET', f.flow, 'special', '1') end
redis.call('HSET', f.records, name, text)
redis.call('HSET', f.members, name, text:match('^\30?([^\n]*)'))
redis.call('SADD', f.left, name)
redis.call('LPUSH', f.todo, 'r' .. name)
for digest, lock in pairs(taken) do redis.call('HSET', unique, digest, lock) end
redis.call('ZADD', away, ms(4e15 + time), id)
return 'filling'
