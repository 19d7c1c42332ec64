-- object/unrefer: removes jobs from those that refer to an object. The object stays until the collector comes by.
--
-- KEYS[1] object:<sha>:jobs
-- ARGV[1..] ids
-- RETURNS how many were removed
-- FIRST WRITE SREM
local refusal = bad('SCARD', KEYS[1])
if refusal then return refusal end
return redis.call('SREM', KEYS[1], unpack(ARGV))
