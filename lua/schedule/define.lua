-- schedule/define: adds, changes or removes a schedule that is still as the caller read it.
--
-- KEYS[1] schedules, KEYS[2] ticks, KEYS[3] schedules:revision, KEYS[4] control, KEYS[5] lanes
-- ARGV[1] schedule
-- ARGV[2] SHA-1 of the definition that it must have; empty: it must not be there
-- ARGV[3] its new definition; empty removes it
-- ARGV[4] 1: its ticks begin now, whatever came before
-- ARGV[5] version of the map of the partitions by which its caller goes, 0 where it knows none
-- RETURNS {1 if the definition is now the new one, ms}; the error ROUTE with the version of a newer map: the schedule
--   may be elsewhere, also if it is not here
-- FIRST WRITE HDEL
local schedules, ticks, revision, control, lanes = unpack(KEYS)
local schedule, digest, definition, anew, map = unpack(ARGV)
local refusal = bad('HLEN', schedules) or bad('HLEN', ticks) or bad('STRLEN', revision)
  or elsewhere(redis.call('HGET', lanes, ''), map)
if refusal then return refusal end

local time, present = ms(now()), redis.call('HGET', schedules, schedule) or ''
if present == definition then return { 1, time } end
if (present == '' and '' or redis.sha1hex(present)) ~= digest then return { 0, time } end

-- ASK HSET SET
redis.call('HDEL', schedules, schedule)
if definition == '' then
  redis.call('HDEL', ticks, schedule)
else
  redis.call('HSET', schedules, schedule, definition)
  local last = redis.call('HGET', ticks, schedule)
  if not last or anew == '1' then
    redis.call('HSET', ticks, schedule, time .. ' ' .. (last and last:match('^%d+ (.*)$') or ''))
  end
end
redis.call('SET', revision, time .. ' ' .. redis.sha1hex(schedule .. definition .. digest))
-- PRELUDE tell
tell(control, 'schedules')
return { 1, time }
