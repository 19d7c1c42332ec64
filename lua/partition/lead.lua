-- partition/lead: makes one mover the only one that takes jobs out of this partition, for a while. Every script of a
-- mover that takes something away from here refuses all others, and lengthens that time. While a mover only reads it
-- keeps its place by this script, which does not give it one that has lapsed: another one may have led meanwhile.
--
-- KEYS[1] mover
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms; 0: it gives up its place
-- ARGV[3] 1: only if the place is its own already
-- RETURNS 1 if the place is its own now, 0 if another one has it, or it was to be kept and has lapsed
-- FIRST WRITE PEXPIRE or UNLINK
local mover, token, life, keeps = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local refusal = bad('STRLEN', mover)
if refusal then return refusal end
local leader = redis.call('GET', mover)
if leader and leader ~= token or not leader and keeps == '1' then return 0 end
if life == '0' then
  redis.call('UNLINK', mover)
elseif redis.call('PEXPIRE', mover, life) == 0 then
  redis.call('SET', mover, token, 'PX', life)
end
return 1
