-- inspect/cancel: flags living jobs as to be cancelled, and tells where each stands, so that the caller can end those
-- that rest (end.lua).
--
-- The flag comes first: wherever a job goes before the caller has ended it, whoever fetches or settles it sees the flag
-- and ends it, and nobody else can end it otherwise: who deletes or purges is refused. A worker that holds one learns
-- of it by the hint, or by its next heartbeat. What is dead is not flagged, and what was deleted deep in a queue
-- (keep_outcome.lua) is over.
--
-- KEYS[1] jobs, KEYS[2] cancelled, KEYS[3] claimed, KEYS[4] trail, KEYS[5] outcomes, KEYS[6] scheduled, KEYS[7] retry,
-- KEYS[8] stalled, KEYS[9] morgue, KEYS[10] control, KEYS[11] frozen, KEYS[12] turns
-- ARGV[1] about how many bytes of records at the most
-- ARGV[2..] ids
-- RETURNS {ms, where, record, trail, ...} of the first ids, as many as fit. where: gone (with its outcome for a record,
--   if that is kept), held, scheduled, retry, stalled, morgue, queue, turns or frozen (on its way to another
--   partition, where it will end so); record and trail only of those that rest and are to be ended
-- FIRST WRITE SREM (of a member that is never there)
local jobs, cancelled, claimed, trail, outcomes, scheduled, retry, stalled, morgue, control, frozen, turns =
  unpack(KEYS)
local most = tonumber(ARGV[1])

local refusal = bad('HLEN', jobs) or bad('SCARD', cancelled) or bad('HLEN', claimed) or bad('HLEN', trail)
  or bad('HLEN', outcomes) or bad('ZCARD', scheduled) or bad('ZCARD', retry) or bad('ZCARD', stalled)
  or bad('ZCARD', morgue) or bad('HLEN', frozen) or bad('ZCARD', turns)
if refusal then return refusal end
redis.call('SREM', cancelled, '')

local function place(id)
  if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
  if redis.call('ZSCORE', scheduled, id) then return 'scheduled' end
  if redis.call('ZSCORE', retry, id) then return 'retry' end
  if redis.call('ZSCORE', stalled, id) then return 'stalled' end
  if redis.call('ZSCORE', turns, id) then return 'turns' end
  return redis.call('ZSCORE', morgue, id) and 'morgue' or 'queue'
end

-- flag notes the wish with a job that is frozen, if it is, and returns where that is: one in the morgue stays as it is,
-- as elsewhere.
local function flag(id)
  local head, lengths, rest = (redis.call('HGET', frozen, id) or ''):match('^(%d+ %d+) %d( [^\n]*\n)(.*)$')
  if head and rest:sub(1, 6) == 'morgue' then return 'morgue' end
  if head then redis.call('HSET', frozen, id, head .. ' 1' .. lengths .. rest) end
  return head and 'frozen'
end

-- past is what is kept of a job that is over, though it may wait for its turn: it has no record, or was deleted.
local function past(id)
  local kept = redis.call('HGET', outcomes, id)
  if redis.call('HEXISTS', jobs, id) == 0 then return true, kept end
  return kept and kept:find('^{"state":"deleted"') and redis.call('SISMEMBER', cancelled, id) == 1, kept
end

local answer, bytes, held = { ms(now()) }, 0, false
for i = 2, #ARGV do
  local id, n = ARGV[i], #answer
  local where, history, over, record = 'gone', false, past(id)
  local leaving = over and flag(id)
  if leaving then
    where, record = leaving, false
  elseif not over then
    where, record = place(id), false
    redis.call(where == 'morgue' and 'SREM' or 'SADD', cancelled, id)
    if where == 'held' then
      held = true
    elseif where ~= 'morgue' then
      record, history = redis.call('HGET', jobs, id), redis.call('HGET', trail, id)
    end
  end
  answer[n + 1], answer[n + 2], answer[n + 3] = where, record, history
  bytes = bytes + #(record or '') + #(history or '')
  if bytes > most then break end
end
if held then
  -- PRELUDE tell
  tell(control, 'cancel')
end
return answer
