-- job/release: gives claims of one queue back to the front of it, in their old order, oldest at the very front. What is
-- older and was given back before, by a call that came first, stands before them again, if it is among the 1,000 in
-- front. Those that have a key wait by turns again, before all others but such older ones, and keep the places of
-- their keys.
--
-- Of a job that a worker died with, the hash crashes has words: one of each death that counts against it,
-- "<worker>@<ms of death>:<ms>.<ms>:<deaths of workers in the last minute>:<ten minutes>:<hour>:<workers>:<token>",
-- where the last time is for how long it ran, and the one before is that times how many jobs ran that are as
-- suspicious, itself included (at most 5), of at least 100 ms. (Both stand in one place since older workers read a
-- number there, to whom less than a ms does not matter.) Perhaps "?<worker>:<token>" of one that does not count; and
-- "+<worker>:<n>:<ms>", when its present attempt began (see mark_suspect.lua). A death counts if the job is known to
-- have begun. Of the first one nobody noted that: then it counts where the worker held nothing that it did not run.
-- (Older workers note only which of those that two died with they run.) The token is that of the claim, larger than
-- that of each claim before.
--
-- KEYS[1] claimed, KEYS[2] crashes, KEYS[3] ready, KEYS[4] worker:<id>:inprocess:<name>, KEYS[5] queue:<name>,
-- KEYS[6] wake:<name>, KEYS[7] worker:<id>:info, KEYS[8] running:<name>, KEYS[9] deaths, KEYS[10] workers,
-- KEYS[11] taken:<id>, KEYS[12] turns, KEYS[13] turning, KEYS[14] keyed, KEYS[15] holding, KEYS[16] passes
-- ARGV[1] queue
-- ARGV[2] worker that died with them, which is noted in crashes; empty where none died. What was taken from it is noted
--   for an hour: it may live on, and ask whether an outcome that it sent had counted
-- ARGV[3] 1: their attempts ended in good order, so earlier crashes are forgotten
-- ARGV[4] how many older ids follow, at most 1,000
-- ARGV[5..] of each, oldest first: before which of the elements it belongs (1 is the first), and id; then the elements,
--   oldest first
-- RETURNS the elements whose claim is gone
-- FIRST WRITE LREM
local claimed, crashes, ready, inprocess, queue, tokens, info, running, deaths, workers, taken,
  turns, turning, keyed, held_places, passes = unpack(KEYS)
local name, died, ended = ARGV[1], ARGV[2], ARGV[3] == '1'

local refusal = bad('HLEN', claimed) or bad('HLEN', crashes) or bad('SCARD', ready)
  or bad('LLEN', inprocess) or bad('LLEN', queue) or bad('SCARD', running)
  or bad('HLEN', taken)
local nokeys, some = bad('HLEN', keyed)
refusal = refusal or nokeys or some > 0 and (bad('ZCARD', turns) or bad('ZCARD', held_places) or bad('ZCARD', passes)
  or bad('HLEN', turning))
if refusal then return refusal end
-- ASK HDEL RPUSH SADD SREM
-- ASK ARGV[4] ~= '0': LRANGE LTRIM
-- ASK died ~= '': HGET HMGET HSET HSETNX PEXPIRE TIME ZCOUNT ZSCORE
-- ASK some > 0: HGET HGETALL HMGET HSET ZADD ZMSCORE ZRANGE ZSCORE

local first = 5 + 2 * tonumber(ARGV[4])
local ids, places, held, gone, notes = {}, {}, {}, {}, {}
-- A living worker gives back the newest claims that it has, mostly: what it had fetched and not begun. They stand at
-- the front of the list. All others begin with the oldest ones, at the back.
local from = died == '' and not ended and 1 or -1
for i = first, #ARGV do
  if redis.call('LREM', inprocess, from, ARGV[i]) == 1 then
    local colon = ARGV[i]:find(':', 1, true)
    if colon then -- one without is no claim of ours, and is gone now
      ids[#ids + 1], held[#held + 1] = ARGV[i]:sub(colon + 1), ARGV[i]
      places[#ids] = i - first + 1
    end
    notes[#notes + 1], notes[#notes + 2] = ARGV[i], '1'
  else
    gone[#gone + 1] = ARGV[i]
  end
end
if #ids == 0 then return gone end

-- autopsy returns when the worker died, and the end of the words about its death; up to which death of a job nothing
-- need be noted of its begin; the element that it noted, if it is an older one; and whether it turned out to be alive.
local function autopsy()
  local of = redis.pcall('HMGET', info, 'prefetch', 'suspect', 'alive')
  local time, others = redis.pcall('ZSCORE', deaths, died), redis.pcall('SCARD', workers)
  time = type(time) == 'string' and tonumber(time) or now()
  local report = ':'
  for _, window in ipairs({ 60000, 600000, 3600000 }) do
    local n = redis.pcall('ZCOUNT', deaths, time - window, '+inf')
    report = report .. (type(n) == 'number' and n or 0) .. ':'
  end
  return time, report .. (type(others) == 'number' and others or 1) .. ':', of[1] == '0' and 1 or of[1] and 0 or 2,
    of[2], of[3]
end

-- examine returns what is known of a job whose worker died: its words, the doubt among them, since when it ran if it
-- did, its token.
local function examine(before, claim, element, presumed, suspect)
  local number, since = (claim or ''):match('^%S+ (%d+) (%d+)')
  local words, doubt, begun, token = {}, nil, element == suspect and since, tonumber(since or 0)
  for word in before:gmatch('%S+') do
    local noted = word:match('^%+.*:(%d+)$')
    token = math.max(token, tonumber(not noted and word:match(':(%d+)$') or -1) + 1)
    if noted then
      if word == '+' .. died .. ':' .. (number or '') .. ':' .. noted then begun = noted end
    elseif word:sub(1, 1) == '?' then
      doubt = word:match('^(.*):')
    else
      words[#words + 1] = word
    end
  end
  if not doubt and #words < presumed then begun = begun or since end
  return { words = words, doubt = doubt, begun = begun, token = ms(token), times = #words }
end

if died ~= '' then
  local claims, before = redis.call('HMGET', claimed, unpack(ids)), redis.call('HMGET', crashes, unpack(ids))
  local time, report, presumed, suspect, alive = autopsy()
  local found, ran, noted = {}, {}, {}
  for i = 1, #ids do
    local of = examine(before[i] or '', claims[i], held[i], presumed, suspect)
    found[i] = of
    for times = 0, of.begun and of.times or -1 do ran[times] = (ran[times] or 0) + 1 end
  end
  for i, of in ipairs(found) do
    if of.begun and not alive then
      local alone = math.max(time - of.begun, 0)
      local share = math.max(alone, 100) * math.min(ran[of.times], 5)
      of.words[#of.words + 1] = died .. '@' .. ms(time) .. ':' .. ms(share) .. '.' .. ms(alone) .. report .. of.token
    else
      of.doubt = of.doubt or '?' .. died
    end
    if of.doubt then of.words[#of.words + 1] = of.doubt .. ':' .. of.token end
    noted[2 * i - 1], noted[2 * i] = ids[i], table.concat(of.words, ' ')
  end
  redis.call('HSET', crashes, unpack(noted))
  local last = redis.pcall('HGET', info, 'n')
  last = type(last) == 'string' and last -- of another type: as if not there
  redis.call(last and 'HSET' or 'HSETNX', taken, 'n', last or 0)
  redis.call('HSET', taken, unpack(notes))
  redis.call('PEXPIRE', taken, 3600000)
end

redis.call('HDEL', claimed, unpack(ids))
redis.call('SREM', running, unpack(ids))
if ended then redis.call('HDEL', crashes, unpack(ids)) end
redis.call('SADD', ready, name)
wake(tokens, 1)
if some > 0 then
  -- PRELUDE line
  -- PRELUDE assign
  -- PRELUDE spot
  -- PRELUDE ahead_of
  -- PRELUDE turn_back
  local lines = { turns = turns, holding = held_places, passes = passes }
  local known, older, before = redis.call('HMGET', keyed, unpack(ids)), {}, {}
  for i = 5, first - 1, 2 do older[#older + 1], before[#before + 1] = ARGV[i + 1], tonumber(ARGV[i]) end
  local any = false
  for i = 1, #ids do any = any or known[i] end
  local base = any and assign(turning, name) -- which may have forgotten its turns while nothing waited
  ids, places = turn_back(lines, base, name, ids, places, known, older, before)
  if #ids == 0 then return gone end
end

-- The front of the queue, its last elements, is written anew from the first of them that must move on.
local front = first > 5 and redis.call('LRANGE', queue, -1000, -1) or {}
local at, older, before, from = {}, {}, {}, #front + 1
for i, id in ipairs(front) do at[id] = i end -- of one that stands twice, the place that is nearer to the front
for i = 5, first - 1, 2 do
  local id = ARGV[i + 1]
  local place = at[id]
  if place then
    at[id] = nil -- named twice, it is put back once
    front[place], from = false, math.min(from, place)
    older[#older + 1], before[#before + 1] = id, tonumber(ARGV[i])
  end
end
local written, left = {}, #older
for i = from, #front do
  if front[i] then written[#written + 1] = front[i] end
end
for i = #ids, 1, -1 do
  while left > 0 and before[left] > places[i] do
    written[#written + 1], left = older[left], left - 1
  end
  written[#written + 1] = ids[i]
end
for i = left, 1, -1 do written[#written + 1] = older[i] end

-- Between LTRIM and the last RPUSH the front of the queue is here alone, so nothing may fail there. Redis refuses a
-- write for want of memory, of a disk or of replicas only as the first write of a script, and that was LREM. The key is
-- a list, which bad has asked, and unpack is given 500 at a time: Lua's stack has room for 8,000.
if from <= #front then redis.call('LTRIM', queue, 0, from - #front - 2) end
for i = 1, #written, 500 do redis.call('RPUSH', queue, unpack(written, i, math.min(i + 499, #written))) end
return gone
