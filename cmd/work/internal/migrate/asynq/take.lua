-- migrate/asynq/take: takes tasks out of one place of a queue into the batch, unless there is one already. A task that is
-- no longer there, or whose message has changed since it was read, is left out.
--
-- KEYS[1] ledger, KEYS[2] batch, KEYS[3] the place, KEYS[4] lease, KEYS[5] groups, KEYS[6..] task of each
-- ARGV[1] what the place is (list, set, running, group)
-- ARGV[2] number of the batch, if it is higher than the last one
-- ARGV[3] partition
-- ARGV[4] time in ms
-- ARGV[5] running: before when the lease must have run out, in s
-- ARGV[6] name of the group
-- ARGV[7..] id, SHA-1 of the message and entry of each
-- RETURNS how many were taken; 0 also where there is a batch
-- FIRST WRITE LREM or ZREM, which goes at full memory too
local head, batch, place, lease, groups = unpack(KEYS, 1, 5)
if redis.call('HLEN', batch) > 0 then return 0 end
local last, n, fields = tonumber(redis.call('HGET', head, 'number') or '0'), 0, {}

local function remove(id)
  if ARGV[1] == 'list' then return redis.call('LREM', place, -1, id) > 0 end
  if ARGV[1] ~= 'running' then return redis.call('ZREM', place, id) > 0 end
  local till = redis.call('ZSCORE', lease, id)
  if not till or tonumber(till) > tonumber(ARGV[5]) then return false end
  if redis.call('LREM', place, 1, id) == 0 then return false end
  redis.call('ZREM', lease, id)
  return true
end

for i = 7, #ARGV, 3 do
  local task = KEYS[6 + (i - 7) / 3]
  local message = redis.call('HGET', task, 'msg')
  if message and redis.sha1hex(message) == ARGV[i + 1] and remove(ARGV[i]) then
    n = n + 1
    redis.call('HSET', batch, 'e' .. n, ARGV[i + 2])
    redis.call('UNLINK', task)
  end
end
if n == 0 then return 0 end
local number = string.format('%.0f', math.max(last + 1, tonumber(ARGV[2])))
redis.call('HSET', batch, 'number', number, 'partition', ARGV[3], 'opened', ARGV[4], 'jobs', n)
redis.call('HSET', head, 'number', number)
if ARGV[1] == 'group' and redis.call('EXISTS', place) == 0 then redis.call('SREM', groups, ARGV[6]) end
return n
