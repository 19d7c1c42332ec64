-- migrate/gocraft/close: removes the batch, if it is the one of that number, and puts back what could not be stored.
--
-- KEYS[1] batch, then place and unique lock of each that is put back, the latter the batch where it had none
-- ARGV[1] number
-- ARGV[2..] what the place is (list, set), record, score, what stood in the lock and s that it lasts of each that is put
--   back
-- RETURNS 1; 0 where there is no such batch
-- FIRST WRITE UNLINK
local batch = KEYS[1]
if redis.call('HGET', batch, 'number') ~= ARGV[1] then return 0 end
redis.call('UNLINK', batch)
local key = 2
for i = 2, #ARGV, 5 do
  local kind, record, score, value, life = unpack(ARGV, i, i + 4)
  if kind == 'list' then
    redis.call('RPUSH', KEYS[key], record)
  else
    redis.call('ZADD', KEYS[key], score, record)
  end
  if KEYS[key + 1] ~= batch then redis.call('SET', KEYS[key + 1], value, 'NX', 'EX', life) end
  key = key + 2
end
return 1
