-- flow/agree: takes the report of a member that is at home in another partition, and decides what it is to do: see
-- flow/order. Its end is counted, once, and what the flow does then stays noted there as usual. It may be repeated by
-- anyone, and what comes late changes nothing. While something is to be done the id of the member is in flows:busy.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control
-- ARGV[1] id of the flow, and ARGV[2] the name of the member
-- ARGV[3] number of the partition in which it is
-- ARGV[4] its state, ARGV[5] when its flow was stored first, ARGV[6] the generation that it belongs to, ARGV[7] how it
--   has ended and ARGV[8] its result, as flow/order has them
-- RETURNS the order, wait if there is none, with when the flow was stored first and its generation behind it. Where the
--   flow has ended now, a line feed and that: see flow_finish
-- FIRST WRITE HDEL (of a field that is never there)
local f = flow_of({ unpack(KEYS, 1, 17) }, 17, {})
local refusal = flow_bad(f)
if refusal then return refusal end
local id, name, from, state, made, of, how, result = unpack(ARGV, 1, 8)
local member, outer = id .. '/' .. name, flow_read(f)
local created = redis.call('HGET', f.flow, 'created') or '0'
local generation = f.generation or '0'

redis.call('HDEL', f.flow, '')
local function settled() redis.call('ZREM', f.busy, member) end
local function order(what) return table.concat({ what, created, generation }, ' ') end

local left, waits = redis.call('SISMEMBER', f.left, name) == 1, redis.call('HEXISTS', f.records, name) == 1
local here = outer and (state == 'gone' or made == created)
local named = (redis.call('HGET', f.members, name) or ''):match('^\29(%d+)')
if not here or named ~= from then -- it belongs to no flow, or is elsewhere
  settled()
  return table.concat({ state == 'gone' and 'wait' or 'remove', made, of }, ' ')
end
if outer == 'filling' or outer == 'reopening' then
  settled()
  return order('wait')
end
local goes, mine = outer == 'running' or outer == 'held', state == 'gone' or of == generation
local over = state == 'gone' or state == 'done' or state == 'dead' or state == 'cancelled'
if over and mine then
  settled()
  if not goes then return order('told') end
  local ended = state == 'gone' and 'deleted' or how ~= 'done' and how or nil
  local function about(value) return { [name] = value } end
  flow_step(f, flow_end(f, { name }, about(ended), about(not ended and result ~= '' and result or nil),
    about(ended and '\n')))
  return order('told') .. (f.told and '\n' .. f.told or '')
end
local stops = f.cancel or not goes or not left
if state == 'held' then
  if stops then return order('cancel') end
  if waits then
    settled()
    return order(mine and 'wait' or 'hold')
  end
  return order(f.paused and 'wait' or 'begin')
elseif state == 'running' or state == 'reopening' then
  if f.cancel and state == 'running' then return order('cancel') end
  if not stops and not waits and (not mine or state == 'reopening') then return order('begin') end
elseif left and goes then -- it has ended, and does not know that it is to run once more
  return order(waits and 'hold' or 'begin')
end
settled()
return order(over and 'told' or 'wait')
