-- flow/reopen: opens a flow again that has ended and not all of whose members are done, so that these run once more. It
-- is called page by page, may be repeated by anyone, and runs nothing before the last call.
--
-- What those wait for is known: an edge that was not met is in unmet still. Only the edges that count whatever the end
-- ("even") were met by an end that is taken back now, and are put there again when all ends have been.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] morgue, KEYS[19] names, KEYS[20] trail,
-- KEYS[21] crashes, KEYS[22] lanes, KEYS[23] unique, KEYS[24] foreign, KEYS[25] turns, KEYS[26] passes,
-- KEYS[27] turning, KEYS[28] keyed, KEYS[29] parked, KEYS[30] holding, KEYS[31] keyrules,
-- KEYS[32] pacing, KEYS[33] waking, KEYS[34] ready
-- ARGV[1] id of the flow
-- ARGV[2] what to do: check, whether members that had ended, or wait, find their locks free; begin; back, members that
--   had ended; even, edges that count whatever the end; free, members that may wait for nobody; then seal, or hold: it
--   is in another flow, and runs when its turn has come
-- ARGV[3] version of the map of the partitions by which the caller goes, 0 where it knows none
-- ARGV[4..] of check, back and free: names, for check and free each of a special member with a line feed and its terms
--   behind it, of even: edges, as in flow.edges:<id>, at most 500; of seal and of hold: the records of what runs at the
--   end, each behind its name
-- RETURNS reopening; of check and free locked, with which of the members meets a lock, and the id of the job that has
--   that: of free those before it have theirs; what state it is in where it cannot be, or is open already; gone; or
--   running or held. Where it has ended again at once, a line feed and that: see flow_finish. Of begin, where a newer
--   map is known here than its caller goes by, nothing is done, and the error is ROUTE with its version
-- FIRST WRITE HDEL (of a field that is never there)
local f = flow_of({ unpack(KEYS, 1, 17) }, 17, {})
local morgue, names, trail, crashes, lanes, unique, foreign = unpack(KEYS, 18)
local lines = lines_at(25)
local refusal = flow_bad(f) or bad('ZCARD', morgue) or bad('HLEN', names) or bad('HLEN', trail) or bad('HLEN', crashes)
  or bad('HLEN', lanes) or bad('HLEN', unique) or bad('HLEN', foreign) or unsound(lines)
if refusal then return refusal end
local step, state = ARGV[2], flow_read(f)
local route = step == 'begin' and elsewhere(redis.call('HGET', lanes, ''), ARGV[3])
if route then return route end
if not state then return 'gone' end

-- reserve looks for the lock of the member that one of ARGV names, and notes it. It returns the answer where somebody
-- else has it. One that lives has or frees it as any job does, and one for a time is not taken again.
local taken = {}
local function reserve(i)
  local name, terms = ARGV[i]:match('^([^\n]*)\n(.*)$')
  local id = name and not terms:find('^%S+ t ') and f.id .. '/' .. name
  if not id or redis.call('HEXISTS', f.jobs, id) == 1 and not redis.call('ZSCORE', morgue, id) then return end
  -- PRELUDE alive
  -- PRELUDE flow_reserve
  local owner = flow_reserve(f.jobs, unique, foreign, taken, id, '\30\n' .. terms, now())
  return owner and 'locked ' .. i - 3 .. ' ' .. owner
end
if step == 'check' then
  for i = 4, #ARGV do
    local locked = reserve(i)
    if locked then return locked end
  end
  return state
end
if state ~= 'reopening' and (step ~= 'begin' or state ~= 'dead' and state ~= 'cancelled') then return state end
-- one that is in a flow elsewhere is opened again once for each generation of that: see flow/order
if step == 'begin' and state ~= 'reopening' and f.known[7] and redis.call('HDEL', f.flow, 'again') == 0 then
  return state
end

if step == 'back' then
  -- ASK HEXISTS ZRANGE
elseif step == 'even' then
  -- ASK SISMEMBER
elseif step == 'free' then
  -- ASK HEXISTS
end
redis.call('HDEL', f.flow, '')
-- put_back takes back the end of a member. One that is dead leaves the morgue, and the place of its key, if that has
-- stopped with it: it waits for its turn as a new one. One that lives is counted when it ends.
local function put_back(name)
  local id = f.id .. '/' .. name
  local queue, record = redis.call('HGET', names, id), redis.call('HGET', f.jobs, id)
  if queue and record and redis.call('ZREM', morgue, id) == 1 then
    redis.call('HSET', f.records, name, queue .. '\n' .. record)
    local known = redis.call('HGET', lines.keyed, id)
    if known then vacate(lines, queue, { id }, { known }) end -- workers find what may begin thereby within a second
    for _, key in ipairs({ f.jobs, names, trail, crashes, lines.keyed }) do redis.call('HDEL', key, id) end
  elseif redis.call('HEXISTS', f.records, name) == 0 and not record then
    -- nobody knows what it was: those that wait for it are not to do so for ever; unless it is done by now
    return redis.call('ZSCORE', f.ends, name) and redis.call('LPUSH', f.todo, 'edeleted\n' .. name .. '\n')
  end
  if redis.call('ZREM', f.ends, name) == 0 then return end
  redis.call('SADD', f.left, name)
end

-- unmeet has one wait again for another, both of which run once more.
local function unmeet(edge)
  local from, to = edge:match('^([^\n]*)\n([^\n]*)\n')
  if redis.call('SISMEMBER', f.left, from) == 1 and redis.call('SISMEMBER', f.left, to) == 1 then
    redis.call('ZADD', f.unmet, 0, to .. '\n' .. from)
  end
end

if step == 'begin' and state ~= 'reopening' then
  redis.call('HSET', f.flow, 'state', 'reopening', 'generation', ms(f.generation + 1))
  redis.call('HDEL', f.flow, 'cancel', 'ended', 'paused', 'deep')
elseif step == 'back' then
  for i = 4, #ARGV do put_back(ARGV[i]) end
elseif step == 'even' then
  for i = 4, #ARGV do unmeet(ARGV[i]) end
elseif step == 'free' then
  for i = 4, #ARGV do
    local name, terms = ARGV[i]:match('^([^\n]*)\n?(.*)$')
    local kept, locked = redis.call('HGET', f.records, name), reserve(i)
    for digest, lock in pairs(taken) do redis.call('HSET', unique, digest, lock) end
    if locked then return locked end
    taken = {}
    if kept and terms ~= '' and kept:byte(1) ~= 30 then -- it has run, and its text was that of any other
      redis.call('HSET', f.records, name, '\30' .. kept:gsub('\n', '\n' .. terms:gsub('%%', '%%%%') .. '\n', 1))
    end
    if kept and redis.call('ZLEXCOUNT', f.unmet, '[' .. name .. '\n', '(' .. name .. '\11') == 0 then
      redis.call('LPUSH', f.todo, 'r' .. name)
    end
  end
elseif step == 'seal' or step == 'hold' then
  for i = 4, #ARGV, 2 do redis.call('HSET', f.records, ARGV[i], ARGV[i + 1]) end
  if not f.id:find('/', 1, true) then redis.call('ZADD', f.over, ms(4e15 + now()), f.id) end
  f.state, f.cancel, f.paused = step == 'seal' and 'running' or 'held', nil, nil
  redis.call('HSET', f.flow, 'state', f.state)
  flow_step(f, {})
  return (step == 'seal' and 'running' or 'held') .. (f.told and '\n' .. f.told or '')
end
return 'reopening'
