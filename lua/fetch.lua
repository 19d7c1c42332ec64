-- fetch: moves waiting ids from several queues to a worker's in-process lists (a multi-queue RPOPLPUSH) and claims them.
--
-- A claim is (worker, number of the fetch, id). A worker that is not registered and a number that is not new are
-- refused, so a fetch whose reply was given up can never land late. An id that is claimed already, stands in the queue
-- twice or has no record is dropped. First each queue gives its share; then any of them fills up what is still wanted.
--
-- KEYS[1] worker:<id>:info, KEYS[2] workers, KEYS[3] claimed, KEYS[4] jobs, KEYS[5] trail, KEYS[6] crashes,
-- KEYS[7] ready, KEYS[8] worker:<id>:queues
-- KEYS[9..] queue:<name>, worker:<id>:inprocess:<name>, wake:<name> of each queue
-- ARGV[1] worker
-- ARGV[2] number of the fetch
-- ARGV[3] how many jobs in all, at most 500
-- ARGV[4] 1: say which queues are ready, in any case
-- ARGV[5] about how many bytes of records at the most
-- ARGV[6..] name, share and size of the first lot of each queue
-- RETURNS {state (ok, fenced, stale), ms, ready names or false, broken keys, how many ids were dropped,
--   then for each queue lots of four lists {ids, records, trails or false, workers that crashed with each or false, ...}}
-- FIRST WRITE RPOP
local info, workers, claimed, jobs, trail, crashes, ready, mine = unpack(KEYS, 1, 8)
local worker, number, wanted, ask, room = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), 500), ARGV[4] == '1', tonumber(ARGV[5])

if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
if tonumber(number) <= tonumber(redis.call('HGET', info, 'n') or 0) then return { 'stale' } end
local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('SCARD', ready) or bad('SCARD', mine)
local notrail, tried = bad('HLEN', trail)
local nocrashes, crashed = bad('HLEN', crashes)
refusal = refusal or notrail or nocrashes
if refusal then return refusal end

local time = ms(now())
local broken, dropped, bytes, got = {}, 0, 0, 0
local taken, emptied = {}, {}

-- sift keeps the ids that have a record and no holder, each once. It is needed only when one of them has not.
local function sift(ids, records, holders)
  local kept, theirs, seen = {}, {}, {}
  for i, id in ipairs(ids) do
    if records[i] and not holders[i] and not seen[id] then
      kept[#kept + 1], theirs[#theirs + 1], seen[id] = id, records[i], true
    end
  end
  dropped = dropped + #ids - #kept
  return kept, theirs
end

-- claim keeps what has a record and no holder, and returns how many that were.
local function claim(queue, name, ids)
  local records, holders = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', claimed, unpack(ids))
  for i = 1, #ids do
    if not records[i] or holders[i] then
      ids, records = sift(ids, records, holders)
      break
    end
  end
  if #ids == 0 then return 0 end
  local claims, elements, value, prefix = {}, {}, worker .. ' ' .. number .. ' ' .. time .. ' ' .. name, number .. ':'
  for i = 1, #ids do claims[2 * i - 1], claims[2 * i] = ids[i], value end
  if redis.call('HSET', claimed, unpack(claims)) < #ids then ids, records = sift(ids, records, {}) end -- one stood twice
  for i = 1, #ids do
    elements[i] = prefix .. ids[i]
    bytes = bytes + #records[i]
  end
  redis.call('LPUSH', KEYS[7 + 3 * queue], unpack(elements))
  local out = taken[queue]
  local n = #out
  out[n + 1], out[n + 2] = ids, records
  out[n + 3] = tried > 0 and redis.call('HMGET', trail, unpack(ids))
  out[n + 4] = crashed > 0 and redis.call('HMGET', crashes, unpack(ids))
  return #ids
end

-- take reads in lots that grow, since the size of the records is known only once a few were seen. A queue full of ids
-- to drop is left for the next fetch after a while: a script must not hold Redis for as long as the queue is.
local function take(queue, share)
  local lot = tonumber(ARGV[5 + 3 * queue])
  share = math.min(share, wanted - got)
  while share > 0 and bytes < room and dropped < 500 and not emptied[queue] do
    if not taken[queue] and bad('LLEN', KEYS[7 + 3 * queue]) then
      broken[#broken + 1], emptied[queue] = KEYS[7 + 3 * queue], 'broken'
      return
    end
    taken[queue] = taken[queue] or {}
    if got > 0 then lot = math.min(lot, math.max(1, math.floor((room - bytes) * got / (bytes + 1)))) end
    lot = math.min(lot, share)
    local ids = redis.pcall('RPOP', KEYS[6 + 3 * queue], lot)
    if ids and ids.err then
      broken[#broken + 1], emptied[queue], ids = KEYS[6 + 3 * queue], 'broken', {}
    end
    if not ids or #ids < lot then emptied[queue] = emptied[queue] or 'empty' end
    local n = ids and #ids > 0 and claim(queue, ARGV[3 + 3 * queue], ids) or 0
    got, share, lot = got + n, share - n, lot * 8
  end
end

local count = (#KEYS - 8) / 3
for queue = 1, count do take(queue, tonumber(ARGV[4 + 3 * queue])) end
for queue = 1, count do take(queue, wanted - got) end

for queue = 1, count do
  taken[queue] = taken[queue] or {}
  local left = emptied[queue] and 0 or redis.pcall('LLEN', KEYS[6 + 3 * queue])
  if type(left) ~= 'number' then
    broken[#broken + 1] = KEYS[6 + 3 * queue]
  elseif left == 0 and emptied[queue] ~= 'broken' then
    redis.call('SREM', ready, ARGV[3 + 3 * queue])
    redis.call('UNLINK', KEYS[8 + 3 * queue])
  elseif left > 0 then
    wake(KEYS[8 + 3 * queue], math.min(left, 2))
  end
end
if count > 0 then redis.call('HSET', info, 'n', number) end

local names = (ask or got < wanted) and redis.call('SINTER', ready, mine) or false
return { 'ok', time, names, broken, dropped, unpack(taken) }
