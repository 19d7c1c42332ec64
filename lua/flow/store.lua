-- flow/store: stores members of a flow that is not sealed yet, with what they wait for. Nothing of it runs.
--
-- It may be sent again, by whoever stores the same flow: what is there already stays as it is. So a store that was cut
-- off is completed by the same calls. Members that wait for nobody are listed in todo when they are new.
--
-- One that is in another flow is stored while that is not sealed, and after the part of it that names it: so whoever
-- removes the outer one finds it. It is in none of the lists. The key behind the lanes is that of the outer one, or its
-- own.
--
-- Members take the locks that they are to have. Where one meets a lock that somebody else has nothing is stored.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flows, KEYS[19] flows:filling,
-- KEYS[20] lanes, KEYS[21] flow:<id>, KEYS[22] unique, KEYS[23] foreign
-- ARGV[1] id of the flow
-- ARGV[2] digest of what it is to be
-- ARGV[3] token of whoever stores it
-- ARGV[4] ms for which it is kept when it has ended
-- ARGV[5] 1: the queues of its members stay known
-- ARGV[6] how many members
-- ARGV[7] version of the map of the partitions by which the caller goes, 0 where it knows none
-- ARGV[8] how many more, of a batch, which wait for nobody; with a "*" behind it some of these are special
-- ARGV[9..] of each member: name, 1 if it waits for nobody, and its text: its queue, a line feed and its record, or
--   that of a special one, in which the ms when it is due may be "+" and those from now on; then the names of those of
--   a batch, and of each of these how it stands in todo; then of each edge: the member that is waited for, the one that
--   waits, and the rule. A flow has neither queue nor record. One that is at home in another partition has no record,
--   and for its queue a byte 29, the number of that, a byte 30 and its queue. Where one is, who stores it first decides
-- RETURNS filling; or sealed, with the token of who has done that behind it; other: a flow of that id is being stored
--   with another digest; living, with the id of a job that is in the way behind it; locked, with which of the
--   members meets a lock, and the id of the job that has that; or gone: one of that id is being
--   removed, or the one that it is in is not being stored. Where a newer map is known here
--   than its caller goes by, and the flow is not here, nothing is done, and the error is ROUTE with its version
-- FIRST WRITE ZADD, refused at full memory as is all that stores what is new
local f, flows, filling = flow_of({ unpack(KEYS, 1, 17) }, 17, {}), KEYS[18], KEYS[19]
local id, digest, token, keep, list, count, map, batch = unpack(ARGV, 1, 8)
local unique, foreign = KEYS[22], KEYS[23]
local refusal = flow_bad(f) or bad('ZCARD', flows) or bad('ZCARD', filling) or bad('HLEN', KEYS[20])
  or bad('HLEN', unique) or bad('HLEN', foreign)
if refusal then return refusal end

local was = redis.call('HMGET', f.flow, 'state', 'digest', 'sealer', 'token', 'away')
local state, stored, sealer, storer, aside = unpack(was)
local outer = KEYS[21] ~= f.flow and KEYS[21]
if state == 'removing' or outer and not state and redis.call('HGET', outer, 'state') ~= 'filling' then return 'gone' end
if state and state ~= 'filling' then return 'sealed ' .. (sealer or '') end
if state and stored ~= digest then return 'other' end
local route = not state and not outer and elsewhere(redis.call('HGET', KEYS[20], ''), map)
if route then return route end
local last, many = 8 + 3 * tonumber(count), tonumber(batch:match('^%d+'))
local names, ids, prefix = {}, {}, id .. '/'
for i = 9, last, 3 do names[#names + 1], ids[#ids + 1] = ARGV[i], prefix .. ARGV[i] end
for i = 1, many do ids[#names + i] = prefix .. ARGV[last + i] end
local living = #ids > 0 and redis.call('HMGET', f.jobs, unpack(ids))
for n = 1, #ids do
  if living[n] then return 'living ' .. ids[n] end
end

local time, special, taken = ms(now()), false, {}
for n = 1, batch:sub(-1) == '*' and #ids or #names do
  local at = n > #names and last + many + n - #names or 8 + 3 * n
  local head, text = '', ARGV[at]
  if n > #names then head, text = text:match('^([^\n]*\n)(.*)$') end
  if text:byte(1) == 30 then
    special = true
    local delay = text:match('^[^\n]*\n%+(%d+)')
    if delay then -- from when it was stored first
      local due = (state and redis.call('HGET', f.records, names[n] or '') or ''):match('^\30[^\n]*\n(%d+)')
      text = text:gsub('^([^\n]*\n)%+%d+', '%1' .. (due or ms(time + delay)))
    end
    ARGV[at] = head .. text
    -- PRELUDE alive
    -- PRELUDE flow_reserve
    local owner = flow_reserve(f.jobs, unique, foreign, taken, ids[n], text, tonumber(time))
    if owner then return 'locked ' .. n .. ' ' .. owner end
  end
end
if not outer then
  local seen = redis.call('ZSCORE', filling, id)
  if not seen or time - seen > 3600000 then redis.call('ZADD', filling, time, id) end -- a call twice changes nothing
  redis.call('ZADD', flows, 'NX', time, id)
end
if not state then
  redis.call('HSET', f.flow, 'id', id, 'state', 'filling', 'digest', digest, 'created', time, 'keep', keep,
    'generation', '1', 'total', '0')
end
-- once two have stored parts of it nobody has stored it alone
redis.call('HSET', f.flow, 'token', (not state or storer == token) and token or '')
local shared = state and storer ~= token

-- enter stores members, of which those that may run are left to be put into their queues.
local function enter()
  local known = shared and redis.call('SMISMEMBER', f.left, unpack(names))
  local records, members, new, free, inner = {}, {}, {}, {}, false
  local were, stood
  for n = 1, #names do aside = aside or ARGV[8 + 3 * n]:byte(1) == 29 end
  if state and aside then
    were, stood = redis.call('HMGET', f.members, unpack(names)), redis.call('SMISMEMBER', f.left, unpack(names))
  end
  for n, name in ipairs(names) do
    local record, ends = ARGV[8 + 3 * n], name:sub(1, 1) == '@'
    local is_away, was = record:byte(1) == 29, were and were[n]
    local was_away = was and was:byte(1) == 29
    if was_away or not is_away or not stood or stood[n] == 0 then -- else it is here
      local away = was_away and was or is_away and record:match('^[^\n]*')
      if away then
        record = '\n'
        redis.call('HSET', f.flow, 'away', '1')
      else
        inner = inner or record == '\n'
      end
      records[#records + 1], records[#records + 2] = name, record
      if not ends and (away or list == '1') then
        members[#members + 1], members[#members + 2] = name, away or record:match('^\30?([^\n]*)')
      end
    end
    if not ends and (not known or known[n] == 0) then
      new[#new + 1] = name
      if ARGV[7 + 3 * n] == '1' then free[#free + 1] = 'r' .. name end
    end
  end
  if #records > 0 then redis.call('HSET', f.records, unpack(records)) end
  if #members > 0 then redis.call('HSET', f.members, unpack(members)) end
  if inner then redis.call('HSET', f.flow, 'inner', '1') end
  -- who stores a flow alone sends a part again as it was: all of it is there, or nothing
  if #new > 0 and redis.call('SADD', f.left, unpack(new)) > 0 and #free > 0 then
    redis.call('LPUSH', f.todo, unpack(free))
  end
end

-- enter_batch stores members with their records in todo, since nobody asks for these before.
local function enter_batch()
  local from, known = last + many, shared and redis.call('SMISMEMBER', f.left, unpack(ARGV, last + 1, last + many))
  local new, free = {}, {}
  for i = 1, known and many or 0 do
    if known[i] == 0 then new[#new + 1], free[#free + 1] = ARGV[last + i], ARGV[from + i] end
  end
  if not known and redis.call('SADD', f.left, unpack(ARGV, last + 1, from)) > 0 then
    redis.call('LPUSH', f.todo, unpack(ARGV, from + 1, from + many))
  elseif #new > 0 then
    redis.call('SADD', f.left, unpack(new))
    redis.call('LPUSH', f.todo, unpack(free))
  end
end
if #names > 0 then enter() end
if many > 0 then enter_batch() end
last = last + 2 * many
if special then redis.call('HSET', f.flow, 'special', '1') end
for digest, lock in pairs(taken) do redis.call('HSET', unique, digest, lock) end
local edges, unmet = {}, {}
for i = last + 1, #ARGV, 3 do
  local n, from, to, rule = #edges, ARGV[i], ARGV[i + 1], ARGV[i + 2]
  edges[n + 1], edges[n + 2] = 0, from .. '\n' .. to .. '\n' .. rule
  unmet[n + 1], unmet[n + 2] = 0, to .. '\n' .. from
end
if #edges > 0 then
  redis.call('ZADD', f.edges, unpack(edges))
  redis.call('ZADD', f.unmet, unpack(unmet))
end
return 'filling'
