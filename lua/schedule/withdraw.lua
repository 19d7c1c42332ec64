-- schedule/withdraw: removes a schedule that no registered worker declares any more.
--
-- A worker tells what it declares when it registers, before it declares it. So one that registers later writes the
-- schedule again, and one that has registered is seen here, if the caller named all workers: that is checked.
--
-- KEYS[1] schedules, KEYS[2] ticks, KEYS[3] schedules:revision, KEYS[4] control, KEYS[5] workers
-- KEYS[6..] worker:<id>:info of each worker
-- ARGV[1] schedule
-- ARGV[2] SHA-1 of its definition as it was read
-- ARGV[3..] the ids of the workers
-- RETURNS gone; declared: by one of the workers; changed: the definition or the workers are others
-- FIRST WRITE HDEL
local schedules, ticks, revision, control, workers = unpack(KEYS, 1, 5)
local schedule, digest = ARGV[1], ARGV[2]
local refusal = bad('HLEN', schedules) or bad('HLEN', ticks) or bad('STRLEN', revision) or bad('SCARD', workers)
if refusal then return refusal end

local definition = redis.call('HGET', schedules, schedule)
if not definition then return 'gone' end
if redis.sha1hex(definition) ~= digest or redis.call('SCARD', workers) ~= #ARGV - 2 then return 'changed' end
for i = 3, #ARGV do
  if redis.call('SISMEMBER', workers, ARGV[i]) == 0 then return 'changed' end
end
for i = 6, #KEYS do
  local declared = unless_refused(redis.pcall('HGET', KEYS[i], 'schedules'))
  if type(declared) == 'string' and ('\n' .. declared .. '\n'):find('\n' .. schedule .. '\n', 1, true) then
    return 'declared'
  end
end

local time = now()
-- ASK SET
redis.call('HDEL', schedules, schedule)
redis.call('HDEL', ticks, schedule)
redis.call('SET', revision, ms(time) .. ' ' .. digest)
-- PRELUDE tell
tell(control, 'schedules')
return 'gone'
