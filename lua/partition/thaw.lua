-- partition/thaw: notes that a batch goes back to the partition that it was frozen in, as its target does not take it.
--
-- From then on whoever delivers it delivers it there, and nobody to the target, whatever becomes of that.
--
-- KEYS[1] mover, KEYS[2] frozen
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms it leads from now on
-- ARGV[3] number of the batch
-- ARGV[4] number of this partition
-- RETURNS ok; led: by another mover; gone: it is not the batch that is outstanding
-- FIRST WRITE PEXPIRE
local mover, frozen = unpack(KEYS)
local refusal = bad('STRLEN', mover) or bad('HLEN', frozen)
if refusal then return refusal end
if redis.call('GET', mover) ~= ARGV[1] then return 'led' end
local number, named = (redis.call('HGET', frozen, '') or ''):match('^(%d+) (%S+)')
if number ~= ARGV[3] or redis.call('HLEN', frozen) < 2 then return 'gone' end
redis.call('PEXPIRE', mover, ARGV[2])
redis.call('HSET', frozen, '', number .. ' ' .. named .. ' 1 ' .. ARGV[4])
return 'ok'
