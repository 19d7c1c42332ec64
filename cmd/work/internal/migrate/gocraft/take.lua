-- migrate/gocraft/take: takes jobs out of one place into the batch, unless there is one already. A job that is no longer
-- there is left out. Of a unique one the lock goes along: its worker would remove it as well when it begins, and run
-- with the args that stand in it.
--
-- KEYS[1] ledger, KEYS[2] batch, KEYS[3] the place, KEYS[4] lock count, KEYS[5] lock info, KEYS[6] heartbeat of the pool,
--   KEYS[7..] unique lock of each, or the ledger where it has none
-- ARGV[1] what the place is (list, set, running)
-- ARGV[2] number of the batch, if it is higher than the last one
-- ARGV[3] partition
-- ARGV[4] time in ms
-- ARGV[5] running: before when the pool must have beaten last, in s
-- ARGV[6] running: the pool
-- ARGV[7..] record and entry of each
-- RETURNS how many were taken; 0 also where there is a batch, or the pool is alive
-- FIRST WRITE LREM or ZREM, which goes at full memory too
local head, batch, place, count, info, heartbeat = unpack(KEYS, 1, 6)
if redis.call('HLEN', batch) > 0 then return 0 end
local last, n = tonumber(redis.call('HGET', head, 'number') or '0'), 0
local running = ARGV[1] == 'running'
if running then
  local beat = redis.call('HGET', heartbeat, 'heartbeat_at')
  if beat and tonumber(beat) > tonumber(ARGV[5]) then return 0 end
end

for i = 7, #ARGV, 2 do
  local removed = ARGV[1] == 'set' and redis.call('ZREM', place, ARGV[i]) or
    ARGV[1] ~= 'set' and redis.call('LREM', place, -1, ARGV[i])
  if removed > 0 then
    n = n + 1
    redis.call('HSET', batch, 'e' .. n, ARGV[i + 1])
    local lock = KEYS[7 + (i - 7) / 2]
    if lock ~= head then
      local value = redis.call('GET', lock)
      if value then
        redis.call('HSET', batch, 'u' .. n, value)
        redis.call('UNLINK', lock)
      end
    end
    if running then
      if tonumber(redis.call('GET', count) or '0') > 0 then redis.call('DECR', count) end
      redis.call('HINCRBY', info, ARGV[6], -1)
    end
  end
end
if n == 0 then return 0 end
local number = string.format('%.0f', math.max(last + 1, tonumber(ARGV[2])))
redis.call('HSET', batch, 'number', number, 'partition', ARGV[3], 'opened', ARGV[4], 'jobs', n)
redis.call('HSET', head, 'number', number)
return n
