-- server/rights: names the calls that the user of this connection may not make, and runs none of those that it may.
--
-- Redis answers the question by itself, but for servers that do not know it: there calls that change nothing are made.
-- A call that is refused is made as well, for the reason that Redis gives.
--
-- KEYS[1] object:<sha>, KEYS[2] control, KEYS[3] done, KEYS[4] held:<token>, KEYS[5] log:<id>
-- KEYS[6..] jobs, queue:<name>, ready, scheduled, worker:<id>:info, epoch, limits, unique, outcomes of each namespace
-- ARGV[1..] calls, as words with spaces between: %1 stands for the first key, which is never there, the next four are
--   channels, and a ? ahead says that the call changes nothing
-- RETURNS number and reason of each call that is refused
-- FIRST WRITE none
local ask, refused = redis.acl_check_cmd, {}
for number, call in ipairs(ARGV) do
  local words = {}
  for word in call:gmatch('[^ ?]+') do words[#words + 1] = KEYS[tonumber(word:match('^%%(%d+)$'))] or word end
  local known, allowed = true, call:sub(1, 1) ~= '?'
  if ask then known, allowed = pcall(ask, unpack(words)) end -- it raises where the server has no such command
  if known and not allowed then
    local said = redis.pcall(unpack(words))
    said = type(said) == 'table' and said.err or ask and 'refused' or nil
    if said then refused[#refused + 1], refused[#refused + 2] = number, said end
  end
end
return refused
