-- worker/list_overdue: which workers should have beaten again by now, and whether there are any of which that is not
-- known.
--
-- A deadline that is further away than heartbeats last was written before Redis' clock was set back, and nothing since.
--
-- KEYS[1] deadlines, KEYS[2] workers, KEYS[3] dead
-- ARGV[1] ms after which a deadline is too far away; declare_dead.lua knows it exactly
-- ARGV[2] how many at the most
-- RETURNS {ids of those overdue, the longest first; how many workers are registered, how many have a deadline, and how
--   many are being taken apart}
-- FIRST WRITE none
local deadlines, workers, dead = unpack(KEYS)

local refusal, registered = bad('SCARD', workers)
if refusal then return refusal end
local unread, bodies = bad('SCARD', dead)
if unread then return unread end
local broken, listed = bad('ZCARD', deadlines)
if broken and not broken.err:find('BADKEY', 1, true) then return broken end
if broken then return { {}, registered, 0, bodies } end -- of another type: the next heartbeat writes it anew
local time = now()
local late = redis.call('ZRANGE', deadlines, '-inf', ms(time), 'BYSCORE', 'LIMIT', 0, ARGV[2])
local ahead = redis.call('ZRANGE', deadlines, '(' .. ms(time + ARGV[1]), '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[2])
for i = 1, #ahead do late[#late + 1] = ahead[i] end
return { late, registered, listed, bodies }
