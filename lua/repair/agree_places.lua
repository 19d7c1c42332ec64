-- repair/agree_places: tells where jobs stand, apart from the lists of queues, and mends what contradicts itself. A job
-- that a worker holds stands on no shelf and waits by no turn, others in one of these places at the most, and what is
-- kept of a job goes with its record.
--
-- KEYS[1] jobs, KEYS[2] claimed, KEYS[3] names, KEYS[4] trail, KEYS[5] crashes, KEYS[6] scheduled, KEYS[7] retry,
-- KEYS[8] morgue, KEYS[9] stalled, KEYS[10] turns, KEYS[11] keyed,
-- KEYS[12] turning
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2..] id and queue by its record (empty where that is not known) of each job
-- RETURNS {id, what, where, ...}, of those of which there is something to say. waiting: it should be in a queue; twice:
--   on that shelf and in a place before it; ghost: there without a record; idle: a name without a shelf; nameless: on
--   that shelf without a name; misnamed: its place says that queue, its record another; unrecorded: held without a
--   record; astray: it waits by turns of no queue, or of another one
-- FIRST WRITE HDEL (of a field that is never there)
local jobs, claimed, names, trail, crashes = unpack(KEYS, 1, 5)
local shelves, keys = { 'scheduled', 'retry', 'morgue', 'stalled', 'turns' }, { unpack(KEYS, 6, 10) }
local mend, keyed, turning = ARGV[1] == '1', KEYS[11], KEYS[12]

local refusal = bad('HLEN', jobs) or bad('HLEN', claimed) or bad('HLEN', names) or bad('HLEN', trail)
  or bad('HLEN', crashes) or bad('ZCARD', keys[1]) or bad('ZCARD', keys[2]) or bad('ZCARD', keys[3])
  or bad('ZCARD', keys[4]) or bad('ZCARD', keys[5]) or bad('HLEN', keyed)
  or bad('HLEN', turning)
if refusal then return refusal end
-- ASK HEXISTS HGET ZSCORE
if mend then
  -- ASK HSET ZREM
  redis.call('HDEL', names, '')
end

-- What is empty need not be asked about each job: of most that is all but two of the questions.
local named, held, full = redis.call('HLEN', names) > 0, redis.call('HLEN', claimed) > 0, {}
for s in ipairs(shelves) do full[s] = redis.call('ZCARD', keys[s]) > 0 end

local answer = {}
local function tell(id, what, where)
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = id, what, where
end

-- astray tells whether a job that waits by turns does so where nobody who comes for its queue looks.
local function astray(shelf, id, recorded)
  local base = shelf == 'turns' and recorded ~= '' and (line(turning, recorded) or -1)
  if not base then return false end
  local pass = tonumber(redis.call('ZSCORE', keys[5], id))
  return base < 0 or pass % 2 ^ 52 < base or pass % 2 ^ 52 >= base + 2 ^ 42
end

-- shelve looks at the shelves, and returns the one on which the job may stay.
local function shelve(id, record, held, recorded)
  local stays, on = false, 0
  for s, shelf in ipairs(shelves) do
    if full[s] and redis.call('ZSCORE', keys[s], id) then
      on = on + 1
      local lost = record and not held and not stays and astray(shelf, id, recorded)
      if record and not held and not stays and not lost then
        stays = shelf
      else
        tell(id, lost and 'astray' or record and 'twice' or 'ghost', shelf)
        if mend then redis.call('ZREM', keys[s], id) end
      end
    end
  end
  return stays, on
end

local function name(id, stays, on, recorded)
  local queue = named and redis.call('HGET', names, id)
  if queue and (not stays or stays == 'turns') then
    if on == 0 then tell(id, 'idle', 'names') end
    if mend then redis.call('HDEL', names, id) end
  elseif stays and stays ~= 'turns' and not queue then
    tell(id, 'nameless', stays)
    if mend and recorded ~= '' then redis.call('HSET', names, id, recorded) end
  elseif stays and queue and recorded ~= '' and queue ~= recorded then
    tell(id, 'misnamed', queue)
  end
end

for i = 2, #ARGV, 2 do
  local id, recorded = ARGV[i], ARGV[i + 1]
  local record, claim = redis.call('HEXISTS', jobs, id) == 1, held and redis.call('HGET', claimed, id)
  local stays, on = shelve(id, record, claim, recorded)
  name(id, stays, on, recorded)
  if record then
    if not claim and not stays then tell(id, 'waiting', '') end
    local queue = claim and claim:match('^%S+ %d+ [%d.]+ (.+)$')
    if queue and recorded ~= '' and queue ~= recorded then tell(id, 'misnamed', queue) end
  else
    if claim then tell(id, 'unrecorded', 'claimed') end
    if redis.call('HEXISTS', trail, id) == 1 then tell(id, 'ghost', 'trail') end
    if redis.call('HEXISTS', crashes, id) == 1 then tell(id, 'ghost', 'crashes') end
    if redis.call('HEXISTS', keyed, id) == 1 then tell(id, 'ghost', 'keyed') end
    if mend then
      redis.call('HDEL', trail, id)
      redis.call('HDEL', crashes, id)
      redis.call('HDEL', keyed, id)
    end
  end
end
return answer
