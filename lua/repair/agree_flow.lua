-- repair/agree_flow: finds members of a flow that cannot go on: nothing else is to be done about the flow, and they
-- wait for nobody, or for one whose end they were not told, or nothing is there of them. What may run is noted, so that
-- anyone goes on with it, and so is an end that is to be told; what is gone counts as deleted.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.left:<id>, KEYS[4] flow.ends:<id>,
-- KEYS[5] flow.unmet:<id>, KEYS[6] flow.todo:<id>, KEYS[7] flows:busy, KEYS[8] jobs, KEYS[9] flow.edges:<id>,
-- KEYS[10] flow.members:<id>
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] id of the flow
-- ARGV[3] 1: whose job is not in jobs has none; 0: it may be in another partition
-- ARGV[4..] names of members, at most 500
-- RETURNS {name, what, name, what, ...}: stuck: it may run, and is in no queue; untold: it waits for one that has
--   ended; gone: nothing is there of it; and, with an empty name, unended: all members have ended, and the flow has not
-- FIRST WRITE HDEL (of a field that is never there)
local flow, records, members, ends, unmet, todo, busy, jobs, edges, named = unpack(KEYS)
local mend, id, here = ARGV[1] == '1', ARGV[2], ARGV[3] == '1'
local refusal, pending = bad('LLEN', todo)
refusal = refusal or bad('HLEN', flow) or bad('HLEN', records) or bad('SCARD', members) or bad('ZCARD', ends)
  or bad('ZCARD', unmet) or bad('ZCARD', busy) or bad('HLEN', jobs)
  or bad('ZCARD', edges) or bad('HLEN', named)
if refusal then return refusal end

local state, cancel, paused = unpack(redis.call('HMGET', flow, 'state', 'cancel', 'paused'))
if state ~= 'running' or cancel or paused or pending > 0 then return {} end
local found, gone = {}, {}
if mend then
  -- ASK HEXISTS HGET RPUSH SISMEMBER SREM TIME ZADD ZLEXCOUNT ZRANGEBYLEX ZSCORE
  redis.call('HDEL', flow, '')
end
local function fault(name, what, work)
  found[#found + 1], found[#found + 2] = name, what
  if mend and work then redis.call('RPUSH', todo, work) end
end
-- untold is what is to be done about the first of those that a member waits for, if that has ended; nil where it has
-- not, or is dead and the member holds on until it is retried. The others come when that is done.
local function untold(name)
  local first = redis.call('ZRANGEBYLEX', unmet, '[' .. name .. '\n', '(' .. name .. '\11', 'LIMIT', 0, 1)[1]
  local from = first:sub(#name + 2)
  if gone[from] or redis.call('SISMEMBER', members, from) == 1 then return end
  local how = redis.call('ZSCORE', ends, from)
  if how == '1' and redis.call('ZSCORE', edges, from .. '\n' .. name .. '\nhold') then return end
  return 'e' .. (how == '1' and 'dead' or how and 'deleted' or 'done') .. '\n' .. from .. '\n'
end
for i = 4, #ARGV do
  local name = ARGV[i]
  if redis.call('SISMEMBER', members, name) == 1 and redis.call('HEXISTS', jobs, id .. '/' .. name) == 0 then
    if redis.call('HEXISTS', records, name) == 0 then
      local queue = redis.call('HGET', named, name) or ' '
      if here and queue ~= '' and queue:byte(1) ~= 29 then -- a flow that runs is looked at by itself
        fault(name, 'gone', 'edeleted\n' .. name .. '\n')
        gone[name] = true
        if mend then
          redis.call('SREM', members, name)
          redis.call('ZADD', ends, 5, name)
        end
      end
    elseif redis.call('ZLEXCOUNT', unmet, '[' .. name .. '\n', '(' .. name .. '\11') == 0 then
      fault(name, 'stuck', 'r' .. name)
    else
      local work = untold(name)
      if work then fault(name, 'untold', work) end
    end
  end
end
if #found == 0 and redis.call('SCARD', members) == 0 then fault('', 'unended') end
if mend and #found > 0 then redis.call('ZADD', busy, 'NX', ms(now()), id) end
return found
