-- job/begin: frees the lock of a job that is unique until it begins, which it is about to do. From now on another one
-- may be stored.
--
-- KEYS[1] unique, KEYS[2] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- ARGV[2] digest of its lock
-- RETURNS 1, or 0 if the claim is gone, so that the job must not begin
-- FIRST WRITE HDEL
local unique, inprocess = unpack(KEYS)
local element, digest = unpack(ARGV)
local refusal = bad('HLEN', unique) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 0 end
local owner, kind = (redis.call('HGET', unique, digest) or ''):match('^(.*) %d+ (%a)$')
if kind == 's' and owner == element:sub(element:find(':', 1, true) + 1) then redis.call('HDEL', unique, digest) end
return 1
