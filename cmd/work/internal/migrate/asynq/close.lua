-- migrate/asynq/close: removes the batch, if it is the one of that number, frees the locks that its tasks hold, and puts
-- back what could not be stored.
--
-- KEYS[1] batch, then the lock of each whose lock is freed, then place, task and groups of each that is put back
-- ARGV[1] number
-- ARGV[2] how many locks
-- ARGV[3..] the id that holds each lock, then what the place is (list, set, group), id, score, message, state, lock and
--   group of each that is put back
-- RETURNS 1; 0 where there is no such batch
-- FIRST WRITE UNLINK
local batch, locks = KEYS[1], tonumber(ARGV[2])
if redis.call('HGET', batch, 'number') ~= ARGV[1] then return 0 end
redis.call('UNLINK', batch)
for i = 1, locks do
  if redis.call('GET', KEYS[1 + i]) == ARGV[2 + i] then redis.call('UNLINK', KEYS[1 + i]) end
end
local key = 2 + locks
for i = 3 + locks, #ARGV, 7 do
  local kind, id, score, message, state, lock, group = unpack(ARGV, i, i + 6)
  redis.call('HSET', KEYS[key + 1], 'msg', message, 'state', state)
  if lock ~= '' then redis.call('HSET', KEYS[key + 1], 'unique_key', lock) end
  if kind == 'list' then
    redis.call('RPUSH', KEYS[key], id)
  else
    redis.call('ZADD', KEYS[key], score, id)
  end
  if kind == 'group' then
    redis.call('HSET', KEYS[key + 1], 'group', group)
    redis.call('SADD', KEYS[key + 2], group)
  end
  key = key + 3
end
return 1
