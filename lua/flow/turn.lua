-- flow/turn: has a flow that is in another one agree with what that has come to. It begins where its turn has come, and
-- is over where it was cancelled before that; and when it has ended the outer flow counts that as the end of a member,
-- once. What the outer flow does then stays noted there as usual. It may be repeated by anyone, and whoever leaves
-- something to be done has put the inner flow into flows:busy.
--
-- While its turn has not come the inner flow is among the records of the outer one. What is left there and has no
-- record has had its turn, and its end was not told. One that is over, and has others in it, is so before the outer one
-- is told, and the caller has those be over as well, each by its own call; so it is where its members are special, and
-- the caller frees their locks, and where they are at home in other partitions. The last key is that of the inner flow,
-- the others are of the outer one.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flow:<id>
-- ARGV[1] id of the inner flow
-- ARGV[2] its name in the outer one
-- ARGV[3] 1: it is cancelled, if it has not begun; 2: those in it are over, and locks freed
-- RETURNS told: the outer flow knows of its end; deep: it is over, and those in it are to be told, or locks to be
--   freed; or the state in which it is, or gone. Of each flow that has ended thereby a line feed and that: see
--   flow_finish
-- FIRST WRITE HDEL (of a field that is never there)
local f, inner = flow_of({ unpack(KEYS, 1, 17) }, 18, {}), KEYS[18]
local refusal = flow_bad(f) or bad('HLEN', inner)
if refusal then return refusal end
local id, name, order = ARGV[1], ARGV[2], ARGV[3]
local outer = flow_read(f)
local state, within, deep, generation, total, special =
  unpack(redis.call('HMGET', inner, 'state', 'inner', 'deep', 'generation', 'total', 'special'))
within = within or redis.call('HGET', inner, 'away')
local left, waits = redis.call('SISMEMBER', f.left, name) == 1, redis.call('HEXISTS', f.records, name) == 1
local told = ''

redis.call('HDEL', inner, '')
if not outer or outer == 'filling' then
  redis.call('ZREM', f.busy, id)
  return state or 'gone'
end
-- one that goes on, or may do so once more, counts how it ends; in one that has ended nothing begins
local counts = outer == 'running' or outer == 'held' or outer == 'reopening'
if state == 'held' then
  if outer == 'running' and left and not waits and not f.cancel and order ~= '1' then
    redis.call('HSET', inner, 'state', 'running', 'sealed', ms(now()))
    if f.paused then redis.call('HSET', inner, 'paused', '1') end
    redis.call('ZADD', f.busy, 'NX', ms(now()), id)
    return 'running'
  elseif not counts or outer ~= 'reopening' and (not left or order == '1' or not waits) then
    redis.call('HSET', inner, 'state', 'cancelled', 'ended', ms(now()), 'deep', within or special or '')
    tell(f.done, id .. '/')
    state, deep = 'cancelled', within or special or ''
    told = table.concat({ '\ncancelled', generation, total, 0, id }, ' ')
  end
elseif not state then
  state, waits = 'deleted', false
end
if state == 'running' then return state end
if state == 'cancelled' and deep then -- it never began
  if deep ~= '' and order ~= '2' then
    redis.call('ZADD', f.busy, 'NX', ms(now()), id)
    return 'deep' .. told
  end
  redis.call('HDEL', inner, 'deep')
  waits = waits and not counts
end
redis.call('ZREM', f.busy, id)
local ended = state ~= 'held' and state ~= 'reopening' and state ~= 'filling' and state ~= 'removing'
if not ended or left and waits then return state .. told end
local how = state ~= 'done' and state or nil
flow_step(f, flow_end(f, { name }, { [name] = how }, {}, { [name] = how and '\n' or nil }))
return 'told' .. told .. (f.told and '\n' .. f.told or '')
