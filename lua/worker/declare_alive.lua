-- worker/declare_alive: takes back that a worker died: it was away and is there again, under another id. What it still
-- holds under the former one goes back as it would otherwise, and what went back has no crash for it.
--
-- Where it was removed before it learned of that, the list of the stopped says so of it, in place of that it died.
--
-- KEYS[1] deaths, KEYS[2] crashes, KEYS[3] worker:<id>:info, KEYS[4] stopped:info
-- ARGV[1] worker, which is the former id
-- ARGV[2..] ids of jobs that it held, at most 500
-- RETURNS for how many jobs it had counted
-- FIRST WRITE ZREM
local deaths, crashes, info, texts = unpack(KEYS)
local refusal = bad('ZCARD', deaths) or bad('HLEN', crashes) or bad('HLEN', info)
if refusal then return refusal end

-- ASK HGET HSET
redis.call('ZREM', deaths, ARGV[1])
if redis.call('HLEN', info) > 0 then redis.call('HSET', info, 'alive', '1') end
local text = redis.pcall('HGET', texts, ARGV[1])
if type(text) == 'string' and text:sub(1, 6) == 'died {' then
  redis.call('HSET', texts, ARGV[1], 'fenced' .. text:sub(5))
end
local taken = 0
for i = 2, #ARGV do
  local before = redis.call('HGET', crashes, ARGV[i])
  local words, doubt = {}, nil -- one is enough, and the last has the largest token
  for word in (before or ''):gmatch('%S+') do
    if word:sub(1, #ARGV[1] + 1) == ARGV[1] .. '@' then
      taken, word = taken + 1, '?' .. ARGV[1] .. word:match(':%d+$')
    end
    if word:sub(1, 1) == '?' and doubt then table.remove(words, doubt) end
    words[#words + 1] = word
    if word:sub(1, 1) == '?' then doubt = #words end
  end
  if before then redis.call('HSET', crashes, ARGV[i], table.concat(words, ' ')) end
end
return taken
