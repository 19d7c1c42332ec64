-- server/rights: names the calls that the user of this connection may not make, and changes nothing.
--
-- Redis answers the question by itself, but for servers that do not know it: there calls that change nothing are made.
-- A call that is refused is made as well, to learn Redis' reason. Pools ask every few seconds, so the calls
-- are not spelled out: most are the name of a command, a key and zeros.
--
-- KEYS[1] object:<sha>, KEYS[2] control, KEYS[3] done, KEYS[4] held:<token>, KEYS[5] log:<id>
-- KEYS[6..] jobs, queue:<name>, ready, scheduled, worker:<id>:info, epoch, limits, unique, outcomes of each namespace
-- ARGV[1] two letters of each call: of which list its words are, and how many; a list in capitals says that the call
--   changes nothing, since its key is never there
-- ARGV[2..] the command of each call
-- RETURNS number and reason of each call that is refused
-- FIRST WRITE none
local none, shapes, ask, refused = KEYS[1], ARGV[1], redis.acl_check_cmd, {}
local lists = { k = { none, '0', '0', '0' }, n = { '0', '0' }, d = { none, none, 'LEFT', 'LEFT', '0' },
  c = { '1', none }, s = { unpack(KEYS, 2, 5) } }
lists.K, lists.N, lists.C = lists.k, lists.n, lists.c
for at = 2, 5 do lists[tostring(at)] = { KEYS[at], '0' } end
for at = 2, #ARGV do
  local list, count = shapes:sub(2 * at - 3, 2 * at - 3), shapes:byte(2 * at - 2) - 48
  local known, allowed = true, not list:find('%u')
  if ask then -- it raises where the server has no such command
    known, allowed = pcall(ask, ARGV[at], unpack(lists[list], 1, count))
  end
  if known and not allowed then
    local said = redis.pcall(ARGV[at], unpack(lists[list], 1, count))
    said = type(said) == 'table' and said.err or ask and 'refused'
    if ask or said and (said:find('NOPERM', 1, true) or said:find('permission', 1, true)) then
      refused[#refused + 1], refused[#refused + 2] = at - 1, said
    end
  end
end
return refused
