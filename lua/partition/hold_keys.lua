-- partition/hold_keys: says which keys are on their way to another partition: from then on none of their jobs gets a
-- place here, since those that run there must count all. What has a place keeps it, and may begin.
--
-- The map of the partitions says what that is, so whoever leads says it anew.
--
-- KEYS[1] mover, KEYS[2] keyrules
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms it leads from now on
-- ARGV[3] the rule of "", see key_rules in the prelude; empty where nothing is on its way
-- RETURNS ok; led: by another mover
-- FIRST WRITE PEXPIRE
local mover, keyrules = unpack(KEYS)
local refusal = bad('STRLEN', mover) or bad('HLEN', keyrules)
if refusal then return refusal end
if redis.call('GET', mover) ~= ARGV[1] then return 'led' end
redis.call('PEXPIRE', mover, ARGV[2])
if ARGV[3] == '' then
  redis.call('HDEL', keyrules, '')
else
  redis.call('HSET', keyrules, '', ARGV[3])
end
return 'ok'
