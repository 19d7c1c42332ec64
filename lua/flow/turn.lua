-- flow/turn: has a flow that is in another one agree with what that has come to. It begins where its turn has come, and
-- is over where it was cancelled before that; and when it has ended the outer flow counts that as the end of a member,
-- once. What the outer flow does then stays noted there as usual. It may be repeated by anyone, and whoever leaves
-- something to be done has put the inner flow into flows:busy.
--
-- While its turn has not come the inner flow is among the records of the outer one. What is left there and has no
-- record has had its turn, and its end was not told. The last key is that of the inner flow, the others are of the
-- outer one.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flow:<id>
-- ARGV[1] id of the inner flow
-- ARGV[2] its name in the outer one
-- ARGV[3] 1: it is cancelled, if it has not begun
-- RETURNS told: the outer flow knows of its end; or the state in which it is, or gone. Where the outer one has ended
--   thereby, a line feed and that: see flow_finish
-- FIRST WRITE HDEL (of a field that is never there)
local f, inner = flow_of({ unpack(KEYS, 1, 17) }, 18, {}), KEYS[18]
local refusal = flow_bad(f) or bad('HLEN', inner)
if refusal then return refusal end
local id, name = ARGV[1], ARGV[2]
local outer, state = flow_read(f), redis.call('HGET', inner, 'state')
local left, waits = redis.call('SISMEMBER', f.left, name) == 1, redis.call('HEXISTS', f.records, name) == 1

redis.call('HDEL', inner, '')
-- over has it end that never began.
local function over()
  redis.call('HSET', inner, 'state', 'cancelled', 'ended', ms(now()))
  tell(f.done, id .. '/')
  state = 'cancelled'
end

if not outer or outer == 'filling' then
  redis.call('ZREM', f.busy, id)
  return state or 'gone'
elseif state == 'held' then
  if outer == 'running' and left and not waits and not f.cancel and ARGV[3] ~= '1' then
    redis.call('HSET', inner, 'state', 'running', 'sealed', ms(now()))
    if f.paused then redis.call('HSET', inner, 'paused', '1') end
    redis.call('ZADD', f.busy, 'NX', ms(now()), id)
    return 'running'
  elseif outer ~= 'reopening' and (not left or ARGV[3] == '1' or not waits) then
    over()
    waits = false
  end
elseif not state then
  state, waits = 'deleted', false
end
if state == 'running' then return state end
redis.call('ZREM', f.busy, id)
local ended = state ~= 'held' and state ~= 'reopening' and state ~= 'filling' and state ~= 'removing'
if not ended or left and waits then return state end
local how = state ~= 'done' and state or nil
flow_step(f, flow_end(f, { name }, { [name] = how }, {}, { [name] = how and '\n' or nil }))
return 'told' .. (f.told and '\n' .. f.told or '')
