-- object/drop: removes objects that no job refers to and that nobody has used for a while.
--
-- Everything is looked at again: one that was used or referred to since the collector chose it stays. Where contents
-- live in another home, this only begins it: whoever wants to store the same content must wait for the mark to go. An
-- object with a key of a wrong type is left to the doctor.
--
-- KEYS[1] objects
-- KEYS[2..] object:<sha>, object:<sha>:jobs, object:<sha>:leaving of each object
-- ARGV[1] ms that an object is kept after its last use
-- ARGV[2] mark of a collector that then takes the contents out of another home; empty where they are in Redis
-- ARGV[3] ms for which it may do so
-- ARGV[4..] shas
-- RETURNS the shas of those removed
-- FIRST WRITE ZREM
local refusal = bad('ZCARD', KEYS[1])
if refusal then return refusal end
-- ASK SET UNLINK
local mark, before, removed = ARGV[2], now() - tonumber(ARGV[1]), {}
for i = 4, #ARGV do
  local at = 3 * (i - 4) + 2
  local object, jobs, leaving = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local used = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local broken, referring = bad('SCARD', jobs)
  broken = broken or bad('STRLEN', object) or bad('STRLEN', leaving)
  if not broken and used and tonumber(used) <= before and referring == 0 then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('UNLINK', object)
    if mark ~= '' then redis.call('SET', leaving, mark, 'PX', ARGV[3]) end
    removed[#removed + 1] = ARGV[i]
  elseif not broken and not used and mark ~= '' and redis.call('GET', leaving) == mark then
    removed[#removed + 1] = ARGV[i] -- sent again
  end
end
return removed
