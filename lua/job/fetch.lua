-- job/fetch: moves waiting ids from several queues to a worker's in-process lists (a multi-queue RPOPLPUSH) and claims
-- them.
--
-- A claim is (worker, number of the fetch, id), and says to the microsecond when that was: the workers of a pool fetch
-- many times in a millisecond, and what they held must come back in the order of their fetches. A worker that is not
-- registered and a number that is not new are refused, so a fetch whose reply was given up can never land late. So is
-- one of a worker that knows of a later fetch than Redis: what it holds must be stored again before anybody claims
-- more, else it would run what it runs already, and the new number would hide the loss from it. An id that is claimed
-- already, stands in the queue twice or has no record is dropped, and not counted where it has left for another
-- partition (departed). First each queue gives its share; then any of them fills up what is still wanted. It works in
-- rounds, each of which pops from many queues and then reads all records at once: what Redis spends on one job is
-- mostly the number of commands. A round takes no more than fits into the reply, as far as sizes are known.
--
-- Queues whose jobs have one name and need other labels share its limits: they have running and rate in common, and
-- what one takes the others do not.
--
-- Of a queue with jobs that wait by turns the lowest passes come first. Those in its list, which have no key, have
-- turns together, as one more key.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers, KEYS[3] claimed, KEYS[4] jobs, KEYS[5] trail, KEYS[6] crashes,
-- KEYS[7] ready, KEYS[8] worker:<id>:queues, KEYS[9] limits, KEYS[10] cancelled, KEYS[11] departed, KEYS[12] turns,
-- KEYS[13] passes, KEYS[14] turning, KEYS[15] keyed, KEYS[16] parked, KEYS[17] holding, KEYS[18] keyrules,
-- KEYS[19] pacing, KEYS[20] waking, KEYS[21] ready
-- KEYS[22..] queue:<name>, wake:<name>, running:<name>, rate:<name>, worker:<id>:inprocess:<name> of each queue
-- ARGV[1] worker
-- ARGV[2] number of the fetch
-- ARGV[3] how many jobs in all, at most 500
-- ARGV[4] 1: say which queues are ready, in any case
-- ARGV[5] about how many bytes of records at the most
-- ARGV[6] how many ns before a rate lets them begin jobs may be taken
-- ARGV[7] the last number that was acknowledged to the worker
-- ARGV[8..] name, share, how many records may fill a quarter of those bytes, and how many jobs at the most, of each
--   queue
-- RETURNS {rewound, the last number that Redis knows}; or {state (ok, fenced, stale), ms with three digits behind the
--   point, ready names or false, broken keys, how many ids were dropped, {name and us until one may begin (-1: not
--   known) of each queue that has jobs which may not be taken now}, {name and us until a key of it may begin one, of
--   each queue that has nothing else}, then for each round {queue (1 is the first), how many jobs, in how many us the
--   first of them may begin (0 or less: now) and how many lie between two, of each, ids, records, trails, workers that
--   crashed with each, whether they are cancelled, in how many us each may begin by the rate of its key; the last four
--   false where there is none}}
-- FIRST WRITE HDEL (of a field that is never there) or RPOP
local info, workers, claimed, jobs, trail, crashes, ready, mine, limits, cancelled = unpack(KEYS, 1, 10)
local worker, number, wanted, most = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), 500), tonumber(ARGV[5])

if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
local before = tonumber(redis.call('HMGET', info, 'n')[1] or 0) -- as below, so that nobody need ask for HMGET
if tonumber(number) <= before then return { 'stale' } end
if before < tonumber(ARGV[7]) then return { 'rewound', before } end
local nolimits, ruled = bad('HLEN', limits)
local notrail, tried = bad('HLEN', trail)
local nocrashes, crashed = bad('HLEN', crashes)
local noflags, flagged = bad('SCARD', cancelled)
local noturns, turned = bad('HLEN', KEYS[14])
local refusal = nolimits or notrail or nocrashes or noflags or noturns or bad('HLEN', claimed) or bad('HLEN', jobs)
local lines
if not refusal and turned > 0 then
  -- PRELUDE lines_at
  -- PRELUDE unsound
  -- PRELUDE to_draw
  -- PRELUDE line
  -- PRELUDE lined
  -- PRELUDE micros
  -- PRELUDE spot
  -- PRELUDE within
  -- PRELUDE key_rules
  -- PRELUDE pace
  -- PRELUDE charge
  -- PRELUDE rear
  -- PRELUDE grant
  -- PRELUDE first_rank
  -- PRELUDE settle
  -- PRELUDE draw_turns
  -- PRELUDE draw
  -- PRELUDE put_aside
  -- PRELUDE vacant
  -- PRELUDE seats_of
  -- PRELUDE states_of
  -- PRELUDE seat
  -- PRELUDE begin_all
  -- PRELUDE rouse
  -- PRELUDE awaited
  -- PRELUDE serve
  -- PRELUDE waits_of
  -- PRELUDE left_of
  lines, refusal = to_draw(12, ARGV[6] / 1000)
  lines.line, lines.serve, lines.waits_of, lines.left_of = line, serve, waits_of, left_of
end
if refusal then return refusal end
-- ASK #KEYS > 21: HSET LPUSH SREM
-- ASK ruled > 0: GET HGET SADD SET STRLEN
-- ASK flagged > 0: SMISMEMBER
-- ASK lines: HGET RPOP SADD ZADD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE ZREM ZREMRANGEBYRANK ZSCORE

-- rooms, by running:<name>: what the limits of a name leave, and how much of that was popped in this round
local time, broken, held, later, rooms, rounds, queues, got, bytes = moment(), {}, {}, {}, {}, {}, {}, 0, 0
-- The time is one for the whole fetch. A full Redis executes HDEL, and then the other writes of this script too.
if lines then lines.time = math.floor(time * 1000 + 0.5); redis.call('HDEL', info, '') end
local drops = { count = 0, departed = KEYS[11] }
for at = 22, #KEYS, 5 do
  local n = #queues + 1
  local name, share, batch, limit = unpack(ARGV, 4 + 4 * n, 7 + 4 * n)
  queues[n] = { at = at, name = name, share = tonumber(share), limit = tonumber(limit), asked = share ~= '0',
    line = lines and lines.line(lines.turning, name), batch = tonumber(batch),
    claim = worker .. ' ' .. number .. ' ' .. time .. ' ' .. name }
end

local function fail(queue, key) broken[#broken + 1], queue.state = key, 'broken' end

-- touch looks whether the keys of a queue are sound, and what its limits allow.
local function touch(queue)
  local at = queue.at
  queue.touched = true
  local no = wrong('LLEN', KEYS[at + 4]) and 4
    or ruled > 0 and (wrong('SCARD', KEYS[at + 2]) and 2 or wrong('STRLEN', KEYS[at + 3]) and 3)
  if no then return fail(queue, KEYS[at + no]) end
  if ruled == 0 then return end
  local left, _, free = room(limits, queue.name, KEYS[at + 2], KEYS[at + 3], tonumber(ARGV[6]))
  queue.room = not free and room_of(rooms, KEYS[at + 2], left) or nil
end

-- pop takes up to that many ids from a queue.
local function pop(queue, n)
  if not queue.touched then touch(queue) end
  n = math.min(n, queue.room and queue.room.left - queue.room.popped or 500, queue.limit)
  if n < 1 or queue.state then return end
  local ids = queue.line and lines.serve(lines, queue, KEYS[queue.at], n)
    or unless_refused(redis.pcall('RPOP', KEYS[queue.at], n)) or {}
  if ids.err then return fail(queue, KEYS[queue.at]) end
  if #ids < n and not ids.more then queue.state = 'empty' end
  if queue.room then queue.room.popped = queue.room.popped + #ids end
  return ids
end

-- file puts n jobs that are claimed into the lists of their queues, and says how many went to each and when they may
-- begin.
local function file(ids, owners, records, n)
  local parts, from = {}, 1
  while from <= n do
    local queue, elements, size, to, first, each = owners[from], {}, 0, from, 0, 0
    while to <= n and owners[to] == queue do
      elements[to - from + 1], size, to = number .. ':' .. ids[to], size + #records[to], to + 1
    end
    redis.call('LPUSH', KEYS[queue.at + 4], unpack(elements))
    if queue.room then
      redis.call('SADD', KEYS[queue.at + 2], unpack(ids, from, to - 1))
      first, each = spend(limits, queue.name, KEYS[queue.at + 3], to - from)
      queue.room.left = queue.room.left - (to - from)
    end
    queue.share, queue.limit = queue.share - (to - from), queue.limit - (to - from)
    queue.batch, bytes = math.max(1, math.floor(most / 4 * (to - from) / (size + 1))), bytes + size
    for _, part in ipairs({ (queue.at - 17) / 5, to - from, first, each }) do parts[#parts + 1] = part end
    from = to
  end
  return parts
end

local function round(shared)
  local ids, owners, count, quarters = {}, {}, 0, 4 * (1 - bytes / most)
  for _, queue in ipairs(queues) do
    local n = math.min(shared and queue.share or 500, wanted - got - count,
      math.max(1, math.floor(queue.batch * quarters)))
    local taken = n > 0 and quarters > 0 and pop(queue, n) or {}
    for i = 1, #taken do ids[count + i], owners[count + i] = taken[i], queue end
    count, quarters = count + #taken, quarters - #taken / queue.batch
  end
  if count == 0 then return false end
  for _, of in pairs(rooms) do of.popped = 0 end
  local records, holders = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', claimed, unpack(ids))
  local n, claims = count, {}
  for i = 1, count do
    if not records[i] or holders[i] then n = sift(drops, ids, owners, records, holders) break end
  end
  if n == 0 then return true end
  for i = 1, n do claims[2 * i - 1], claims[2 * i] = ids[i], owners[i].claim end
  if redis.call('HSET', claimed, unpack(claims)) < n then -- one stood twice
    n = sift(drops, ids, owners, records, {})
  end
  rounds[#rounds + 1] = { file(ids, owners, records, n), ids, records,
    tried > 0 and redis.call('HMGET', trail, unpack(ids)), crashed > 0 and redis.call('HMGET', crashes, unpack(ids)),
    flagged > 0 and redis.call('SMISMEMBER', cancelled, unpack(ids)), lines and lines.waits_of(lines, ids) or false }
  got = got + n
  return true
end
for _, shared in ipairs({ true, false }) do
  while got < wanted and bytes < most and drops.count < 500 and round(shared) do end
end

for _, queue in ipairs(queues) do -- those of which nothing was asked stay as they were
  if queue.asked and not queue.touched then touch(queue) end
  local left = queue.state == 'empty' and 0 or queue.touched and redis.pcall('LLEN', KEYS[queue.at])
  if queue.line and left == 0 then
    left = lines.left_of(lines, queue, later, got >= wanted and KEYS[queue.at + 1])
  end
  if queue.state == 'broken' or not left then -- reported, or as it was
  elseif type(left) ~= 'number' then
    fail(queue, KEYS[queue.at])
  elseif left == 0 then
    redis.pcall('SREM', ready, queue.name) -- of a wrong type: that is for those who ask for names to tell
    redis.pcall('UNLINK', KEYS[queue.at + 1]) -- tokens are hints
  elseif queue.room and queue.room.left < 1 then
    local _, wait = room(limits, queue.name, KEYS[queue.at + 2], KEYS[queue.at + 3])
    held[#held + 1], held[#held + 2] = queue.name, wait or -1
    -- another one may wait for it: the caller may be full
    if wait and got >= wanted then wake(KEYS[queue.at + 1], 1) end
  else
    wake(KEYS[queue.at + 1], math.min(left, 2, queue.room and queue.room.left or 2))
  end
end
if #queues > 0 and #rounds == 0 then redis.call('HDEL', info, '') end -- for a full Redis too
if #queues > 0 then redis.call('HSET', info, 'n', number) end
local names = (ARGV[4] == '1' or got < wanted) and redis.pcall('SINTER', ready, mine) or false
if names and names.err then broken[#broken + 1], names = misfit(names, ready, mine), false end
return { 'ok', time, names, broken, drops.count, held, later, unpack(rounds) }
