-- repair/agree_keys: makes agree what is kept of the jobs of keys of one queue: who has a place of its key, and who is
-- parked. Places that are free by that, or that nobody has given on, go to those that are parked.
--
-- Of a queue that has no turns any more, or another number, all goes.
--
-- KEYS[1] jobs, KEYS[2] claimed, KEYS[3] foreign, KEYS[4] scheduled, KEYS[5] retry, KEYS[6] stalled, KEYS[7] morgue,
-- KEYS[8] wake:<name>, KEYS[9] turns, KEYS[10] passes, KEYS[11] turning, KEYS[12] keyed, KEYS[13] parked,
-- KEYS[14] holding, KEYS[15] keyrules, KEYS[16] pacing, KEYS[17] waking, KEYS[18] ready
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] number of the queue, four digits
-- ARGV[3] its name
-- ARGV[4..] what (holding, parked, or turns: it has the score of one that is parked), key, id and score (of a parked
--   one its pass, 16 digits) of each, at most 100
-- RETURNS {id, what, ...}. seat: it has a place of its key and is nowhere, or where it should have none; unlined: it is
--   parked and stands in no line, or in another place of it; unparked: the reverse; free: its key has room, and jobs
--   that are parked
-- FIRST WRITE ZREM (of a member that is never there)
local jobs, claimed, foreign, scheduled, retry, stalled, morgue, tokens = unpack(KEYS)
local mend, number, name = ARGV[1] == '1', ARGV[2], ARGV[3]
local lines = lines_at(9)
local refusal = bad('HLEN', jobs) or bad('HLEN', claimed) or bad('HLEN', foreign) or bad('ZCARD', scheduled)
  or bad('ZCARD', retry) or bad('ZCARD', stalled) or bad('ZCARD', morgue) or bad('ZCARD', lines.turns)
  or bad('ZCARD', lines.passes) or unsound(lines)
if refusal then return refusal end
-- ASK HEXISTS HGET HMGET TIME ZLEXCOUNT ZRANGE ZSCORE
if mend then
  -- ASK SADD ZADD ZMSCORE
  redis.call('ZREM', lines.holding, '')
end

local base, answer, roomy, keys, seen = line(lines.turning, name), {}, false, {}, {}
local stands = base == number * 2 ^ 42
local _, order = key_rules(lines, name, {})
local function tell(id, what) answer[#answer + 1], answer[#answer + 2] = id, what end

-- entitled tells whether a job may have a place of its key: a worker has it, here or in another partition, it may be
-- drawn, it stands in a list, or it waits on a shelf of an ordered key.
local function entitled(id, key)
  if redis.call('HEXISTS', jobs, id) == 0 then return redis.call('HEXISTS', foreign, id) == 1 end
  if (redis.call('HGET', lines.keyed, id) or ''):match('^%d+ (.*)$') ~= key then return false end
  if redis.call('HEXISTS', claimed, id) == 1 then return true end
  local score = redis.call('ZSCORE', lines.turns, id)
  if score then return tonumber(score) < 2 ^ 52 end
  if redis.call('ZSCORE', morgue, id) then return order and order:sub(2) == 's' end
  for _, shelf in ipairs({ scheduled, retry, stalled }) do
    if redis.call('ZSCORE', shelf, id) then return order and order:sub(1, 1) == 'h' end
  end
  return true
end

for i = 4, #ARGV, 4 do
  local what, key, id, pass = unpack(ARGV, i, i + 3)
  local at = number .. '\0' .. key .. '\0'
  if not seen[key] then
    keys[#keys + 1], seen[key] = key, true
  end
  if what == 'holding' and redis.call('ZSCORE', lines.holding, at .. id) and not (stands and entitled(id, key)) then
    tell(id, 'seat')
    if mend then redis.call('ZREM', lines.holding, at .. id) end
  elseif what == 'parked' and redis.call('ZSCORE', lines.parked, at .. pass .. '\0' .. id) then
    local score = redis.call('ZSCORE', lines.turns, id)
    if not stands or not score or tonumber(score) ~= 2 ^ 52 + base + tonumber(pass) then
      tell(id, 'unlined')
      if mend then redis.call('ZREM', lines.parked, at .. pass .. '\0' .. id) end
    end
  elseif what == 'turns' and stands and redis.call('ZSCORE', lines.turns, id) == pass then
    local whose = (redis.call('HGET', lines.keyed, id) or ''):match('^%d+ (.*)$')
    local of = tonumber(pass) - 2 ^ 52 - base
    local member = whose and number .. '\0' .. whose .. '\0' .. string.format('%016.0f', of) .. '\0' .. id
    if of >= 0 and of < 2 ^ 42 and not (member and redis.call('ZSCORE', lines.parked, member)) then
      tell(id, 'unparked')
      if mend and member then
        redis.call('ZADD', lines.parked, 0, member)
      elseif mend then -- nobody knows its key: it is next
        redis.call('ZADD', lines.turns, ms(base), id)
        redis.call('SADD', lines.ready, name)
        roomy = true
      end
    end
  end
end

local rules = stands and key_rules(lines, name, keys) or {}
for _, key in ipairs(stands and keys or {}) do
  local from, to = within(spot(base, key))
  local first = redis.call('ZRANGE', lines.parked, from, to, 'BYLEX', 'LIMIT', 0, 1)[1]
  local rule = rules[key]
  local room = first and not (rule and rule.most and rule.most <= redis.call('ZLEXCOUNT', lines.holding, from, to))
  local paced = room and pace(lines, rule, spot(base, key))
  if room and (paced > 0 or not redis.call('ZSCORE', lines.waking, spot(base, key):sub(1, -2))) then
    tell(first:match('([^%z]*)$'), 'free')
    if mend then
      local given, waits = grant(lines, name, base, key, rule)
      roomy = roomy or given > 0 or waits
    end
  end
end
if roomy then wake(tokens, 2) end
return answer
