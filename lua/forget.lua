-- forget: removes a worker, dead or stopping, once all its in-process lists are empty.
--
-- KEYS[1] workers, KEYS[2] dead, KEYS[3] worker:<id>, KEYS[4] worker:<id>:queues, KEYS[5] worker:<id>:info,
-- KEYS[6] worker:<id>:running, KEYS[7] lease
-- KEYS[8..] worker:<id>:inprocess:<name> of each queue that it serves
-- ARGV[1] worker
-- ARGV[2..] the names of the queues whose lists are given
-- RETURNS {state (gone, holding, changed), names of the queues it still holds jobs of}
-- FIRST WRITE SREM
local workers, dead, heart, mine, info, running, lease = unpack(KEYS, 1, 7)

local held = {}
for i = 8, #KEYS do
  local length = redis.pcall('LLEN', KEYS[i])
  if type(length) == 'number' and length > 0 then held[#held + 1] = ARGV[i - 6] end
end
if #held > 0 then return { 'holding', held } end
local known = redis.call('SCARD', mine) -- 0 when this was sent before
if known > 0 and known ~= #ARGV - 1 then return { 'changed', {} } end
for i = 2, known > 0 and #ARGV or 0 do
  if redis.call('SISMEMBER', mine, ARGV[i]) == 0 then return { 'changed', {} } end
end

redis.call('SREM', workers, ARGV[1])
redis.call('SREM', dead, ARGV[1])
redis.call('UNLINK', heart, mine, info, running)
if redis.call('GET', lease) == ARGV[1] then redis.call('UNLINK', lease) end
return { 'gone', {} }
