-- thoonk/reserve: the next id of a sorted feed, which nobody else gets.
--
-- Inserting is a call of its own, so that one which is sent twice with its id inserts once. A reserved id that is never
-- used leaves a gap and nothing else.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.idincr:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- RETURNS the id
-- FIRST WRITE INCR, refused at full memory
local feeds, config, counter = unpack(KEYS)
local name, known = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', counter, 'string')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
return redis.call('INCR', counter)
