-- job/complete: ends jobs that are done or discarded, each only if the very claim that is named still stands.
--
-- A job that is to be cancelled, and one that somebody waits for while its outcome was not sent along, are left as they
-- are and named in the answer: the caller sends them again in the form that they need (see end.lua). What a job has
-- beside its record, trail and crashes is not known here; such a one ends by end.lua too. The ends of members count in
-- their flows: what waited for them goes on.
--
-- KEYS[1] claimed, KEYS[2] jobs, KEYS[3] trail, KEYS[4] crashes, KEYS[5] outcomes, KEYS[6] outcomes:until,
-- KEYS[7] limits, KEYS[8] cancelled, KEYS[9] waited, KEYS[10] done
-- KEYS[11..] worker:<id>:inprocess:<name>, running:<name> of each queue, and then ended:<state>:<name>,
--   details:<state>:<name> of each state and queue of whose jobs details are kept,
--   and, where some have a key, turns, passes, turning, keyed, parked, holding, keyrules, pacing, waking, ready,
--   and, where some are members, queues, ready, control, flows:busy, flows:over, the 9 keys of each flow as
--   flow/advance has them, and queue:<name>, wake:<name>, running:<name>, rate:<name> of queues of which jobs may wait
-- ARGV[1] how many groups follow; with a "*" behind it some have a key; with "@", a number, ":" and another behind that
--   some are members, and where in KEYS and in ARGV that begins which is about flows
-- ARGV[2..] of each group: queue (1 is the first), number of the fetch, how many ids, and they; then, of each job whose
--   outcome is kept, which of all it is (1 is the first), ms to keep it and outcome; of each of these whose details are
--   kept, minus which it is, where in KEYS they go, and details; then, where some have a key, the names of the queues;
--   then how many flows and how many queues of those who wait, the names of these, and of each flow how many members
--   follow and which of all they are: see flows_end
-- RETURNS {elements whose claim is gone, those to be cancelled, those waited for, then the KEYS of in-process lists of
--   queues that may have room now, then of each flow that has ended a text: see flow_finish}
-- FIRST WRITE UNLINK or LREM
local claimed, jobs, trail, crashes, outcomes, expiry, limits, cancelled, waited, done = unpack(KEYS, 1, 10)

local notrail, tried = bad('HLEN', trail)
local nocrashes, crashed = bad('HLEN', crashes)
local nolimits, ruled = bad('HLEN', limits)
local noflags, flagged = bad('SCARD', cancelled)
local nowaiters, waiting = bad('HLEN', waited)
local groups, star, flow_key, flow_arg = ARGV[1]:match('^(%d+)(%*?)@?(%d*):?(%d*)$')
local lines, flows, end_of_keys, names, went = nil, nil, #KEYS, #ARGV, nil
local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or notrail or nocrashes or nolimits or noflags or nowaiters
if flow_key ~= '' then
  -- PRELUDE flow_broken
  -- PRELUDE flow_denied
  -- PRELUDE flows_at
  end_of_keys, names, went = tonumber(flow_key) - 1, tonumber(flow_arg) - 1, {}
  flows = flows_at(end_of_keys + 1, names + 1, jobs, limits, done)
  refusal = refusal or flows.bad
end
if star ~= '' then
  -- PRELUDE lines_at
  -- PRELUDE unsound
  end_of_keys = end_of_keys - 10
  lines = lines_at(end_of_keys + 1)
  refusal = refusal or unsound(lines)
end

if refusal then return refusal end
local ids, elements, lists, at, last = {}, {}, {}, 2, 11
for _ = 1, tonumber(groups) do
  local list, prefix, count = 9 + 2 * tonumber(ARGV[at]), ARGV[at + 1] .. ':', tonumber(ARGV[at + 2])
  local n = #ids - at - 2
  last = math.max(last, list)
  for i = at + 3, at + 2 + count do ids[n + i], elements[n + i], lists[n + i] = ARGV[i], prefix .. ARGV[i], list end
  at = at + 3 + count
end
if lines then names = names - (last - 9) / 2 end
local keeps = at <= names
if keeps then refusal = refusal or bad('HLEN', outcomes) or bad('ZCARD', expiry) end
local lengths = {}
for i = 11, end_of_keys, 2 do
  local no, length
  if i <= last then
    no, length = bad('LLEN', KEYS[i])
    no = no or ruled > 0 and bad('SCARD', KEYS[i + 1])
  else
    no = bad('ZCARD', KEYS[i]) or bad('HLEN', KEYS[i + 1])
  end
  lengths[i], refusal = length, refusal or no or nil
end
if refusal then return refusal end
-- ASK HDEL
-- ASK #ids > 1: LRANGE LREM RPUSH UNLINK
-- ASK ruled > 0: SREM
-- ASK keeps: HGET HSET PEXPIRE PTTL TIME ZADD ZRANGE ZREM
-- ASK lines and lines.places > 0: HGET HMGET SADD TIME ZADD ZLEXCOUNT ZMSCORE ZRANGE ZREM ZSCORE

local kept, told, answer, skip = {}, {}, { {}, {}, {} }, {}
for i = at, names, 3 do
  local which = tonumber(ARGV[i])
  if which > 0 then kept[which] = i else told[-which] = i end
end
local flags = flagged > 0 and redis.call('SMISMEMBER', cancelled, unpack(ids))
local waiters = waiting > 0 and redis.call('HMGET', waited, unpack(ids))
for i = 1, (flags or waiters) and #ids or 0 do
  local why = flags and flags[i] == 1 and 2 or waiters and waiters[i] and not kept[i] and 3
  if why then
    skip[i] = true
    table.insert(answer[why], elements[i])
  end
end

-- remove takes elements from, to of one list and tells which were there. Where they are a good part of it, the list
-- is written anew: to take them out one by one costs a command for each.
local function remove(from, to)
  local list, there = KEYS[lists[from]], {}
  if #ids == 1 or 3 * (to - from + 1) < lengths[lists[from]] then
    for i = from, to do there[elements[i]] = not skip[i] and redis.call('LREM', list, -1, elements[i]) == 1 end
    return there
  end
  local rest, wanted = {}, {}
  for i = from, to do wanted[elements[i]] = not skip[i] end
  for _, element in ipairs(redis.call('LRANGE', list, 0, -1)) do
    if wanted[element] then there[element] = true else rest[#rest + 1] = element end
  end
  redis.call('UNLINK', list)
  if #rest > 0 then redis.call('RPUSH', list, unpack(rest)) end
  return there
end

local ended, from = {}, 1
while from <= #ids do
  local to, part = from, {}
  while lists[to + 1] == lists[from] do to = to + 1 end
  local there = remove(from, to)
  for i = from, to do
    if there[elements[i]] then
      part[#part + 1], ended[#ended + 1], there[elements[i]] = ids[i], ids[i], nil -- named twice, it counts once
      if went then went[i] = true end
    else
      kept[i] = nil
      if not skip[i] then table.insert(answer[1], elements[i]) end
    end
  end
  local roomy = ruled > 0 and #part > 0 and redis.call('SREM', KEYS[lists[from] + 1], unpack(part)) > 0
  if lines and lines.places > 0 and #part > 0 then
    -- PRELUDE line
    -- PRELUDE micros
    -- PRELUDE spot
    -- PRELUDE within
    -- PRELUDE key_rules
    -- PRELUDE pace
    -- PRELUDE rear
    -- PRELUDE grant
    -- PRELUDE vacate
    local name = ARGV[names + (lists[from] - 9) / 2]
    roomy = vacate(lines, name, part, redis.call('HMGET', lines.keyed, unpack(part))) or roomy
  end
  if roomy then table.insert(answer, lists[from]) end
  from = to + 1
end
if #ended == 0 then return answer end

local time, past = keeps and now(), {}
for i, k in pairs(kept) do
  redis.call('HSET', outcomes, ids[i], ARGV[k + 2])
  redis.call('ZADD', expiry, ms(time + tonumber(ARGV[k + 1])), ids[i])
  if waiters and waiters[i] then
    redis.call('HDEL', waited, ids[i])
    -- PRELUDE tell
    tell(done, ids[i])
  end
  local d = told[i]
  if d then
    local place = tonumber(ARGV[d + 1])
    local jobs = past[place] or {}
    past[place] = jobs
    jobs[#jobs + 1], jobs[#jobs + 2], jobs[#jobs + 3] = ids[i], ARGV[d + 2], ARGV[k + 1]
  end
end
if next(past) then
  -- PRELUDE weight
  -- PRELUDE remember
  for place, jobs in pairs(past) do remember(KEYS[place], KEYS[place + 1], jobs, time) end
end
if flows then
  -- PRELUDE tell
  -- PRELUDE wake
  -- PRELUDE owed
  -- PRELUDE room
  -- PRELUDE summon
  -- PRELUDE flow_read
  -- PRELUDE flow_place
  -- PRELUDE flow_put
  -- PRELUDE flow_unlock
  -- PRELUDE flow_free
  -- PRELUDE flow_call
  -- PRELUDE flow_release
  -- PRELUDE flow_unpack
  -- PRELUDE flow_push
  -- PRELUDE flow_drop
  -- PRELUDE flow_visit
  -- PRELUDE flow_meet
  -- PRELUDE flow_finish
  -- PRELUDE flow_work
  -- PRELUDE flow_advance
  -- PRELUDE flow_end
  -- PRELUDE flows_end
  flows_end(flows, ids, went, answer)
end
redis.call('HDEL', claimed, unpack(ended))
redis.call('HDEL', jobs, unpack(ended))
if tried > 0 then redis.call('HDEL', trail, unpack(ended)) end
if lines then redis.call('HDEL', lines.keyed, unpack(ended)) end
if crashed > 0 then redis.call('HDEL', crashes, unpack(ended)) end
return answer
