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
-- ARGV[6..] name, share of each queue
-- RETURNS {state (ok, fenced, stale), ms, ready names or false, broken keys, how many ids were dropped,
--   then for each queue {id, record, trail or false, workers that crashed with it or false, ...}}
-- FIRST WRITE RPOP
local info, workers, claimed, jobs, trail, crashes, ready, mine = unpack(KEYS, 1, 8)
local worker, number, wanted, ask, room = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), 500), ARGV[4] == '1', tonumber(ARGV[5])

if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end
if tonumber(number) <= tonumber(redis.call('HGET', info, 'n') or 0) then return { 'stale' } end
local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('HLEN', trail) or bad('HLEN', crashes)
  or bad('SCARD', ready) or bad('SCARD', mine)
if refusal then return refusal end

local time = ms(now())
local tried, crashed = redis.call('HLEN', trail) > 0, redis.call('HLEN', crashes) > 0
local broken, dropped, bytes, got = {}, 0, 0, 0
local taken, emptied = {}, {}

-- claim keeps what has a record and no holder, and returns how many that were.
local function claim(queue, name, ids)
  local records, holders = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', claimed, unpack(ids))
  local fails = tried and redis.call('HMGET', trail, unpack(ids)) or {}
  local deaths = crashed and redis.call('HMGET', crashes, unpack(ids)) or {}
  local elements, claims, out, seen = {}, {}, taken[queue], {}
  for i, id in ipairs(ids) do
    if records[i] and not holders[i] and not seen[id] then
      seen[id] = true
      bytes = bytes + #records[i]
      elements[#elements + 1] = number .. ':' .. id
      local n, c = #out, #claims
      claims[c + 1], claims[c + 2] = id, worker .. ' ' .. number .. ' ' .. time .. ' ' .. name
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, records[i], fails[i] or false, deaths[i] or false
    end
  end
  dropped = dropped + #ids - #elements
  if #elements == 0 then return 0 end
  redis.call('LPUSH', KEYS[7 + 3 * queue], unpack(elements))
  redis.call('HSET', claimed, unpack(claims))
  return #elements
end

-- take reads in lots that grow, since the size of the records is known only once a few were seen. A queue full of ids
-- to drop is left for the next fetch after a while: a script must not hold Redis for as long as the queue is.
local function take(queue, share)
  local lot = 8
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
    local n = ids and #ids > 0 and claim(queue, ARGV[4 + 2 * queue], ids) or 0
    got, share, lot = got + n, share - n, lot * 8
  end
end

local count = (#KEYS - 8) / 3
for queue = 1, count do take(queue, tonumber(ARGV[5 + 2 * queue])) end
for queue = 1, count do take(queue, wanted - got) end

for queue = 1, count do
  taken[queue] = taken[queue] or {}
  local left = emptied[queue] and 0 or redis.pcall('LLEN', KEYS[6 + 3 * queue])
  if type(left) ~= 'number' then
    broken[#broken + 1] = KEYS[6 + 3 * queue]
  elseif left == 0 and emptied[queue] ~= 'broken' then
    redis.call('SREM', ready, ARGV[4 + 2 * queue])
    redis.call('UNLINK', KEYS[8 + 3 * queue])
  elseif left > 0 then
    wake(KEYS[8 + 3 * queue], math.min(left, 2))
  end
end
if count > 0 then redis.call('HSET', info, 'n', number) end

local names = (ask or got < wanted) and redis.call('SINTER', ready, mine) or false
return { 'ok', time, names, broken, dropped, unpack(taken) }
