-- object/keep: puts an upload in its place, if it is there in full.
--
-- Of two uploads of the same content the first one stays; the other is removed. An upload that has expired in between
-- is lost: pieces written after that would stand behind zeros, which its length alone does not show, so the uploader
-- looks at the length before each piece as well.
--
-- KEYS[1] objects, KEYS[2] object:<sha>, KEYS[3] object:<sha>:upload:<token>
-- ARGV[1] sha
-- ARGV[2] bytes that the content has
-- RETURNS kept; present if an object of that length is there already; lost if the upload is not there in full
-- FIRST WRITE PERSIST (of the upload)
local objects, object, upload = unpack(KEYS)
local wrong, length = bad('STRLEN', object)
local incomplete, uploaded = bad('STRLEN', upload)
local refusal = wrong or incomplete or bad('ZCARD', objects)
if refusal then return refusal end

local size, answer = tonumber(ARGV[2]), 'lost'
if redis.call('EXISTS', object) == 1 and length == size then
  answer = 'present'
elseif redis.call('EXISTS', upload) == 1 and uploaded == size then
  answer = 'kept'
end
if answer == 'lost' then return answer end
-- ASK RENAME TIME UNLINK ZADD
redis.call('PERSIST', upload)
if answer == 'kept' then
  redis.call('RENAME', upload, object)
else
  redis.call('UNLINK', upload)
end
redis.call('ZADD', objects, ms(now()), ARGV[1])
return answer
