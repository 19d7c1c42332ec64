-- alert/keep: makes one dashboard the only one that tells of alerts, and keeps what it has told.
--
-- The one that has the lease looks, sends and then notes what it has sent; the others find the lease taken. So each
-- incident is told once, also by many. One that dies between a message and its note has the next one tell it again,
-- under the same key: an alert that comes twice is better than one that nobody got.
--
-- KEYS[1] alerts:teller, KEYS[2] alerts
-- ARGV[1] token of the dashboard
-- ARGV[2] ms that the lease lasts; 0 gives it back
-- ARGV[3] ms that incidents are kept after the last change
-- ARGV[4..] rule and JSON of its incident, empty where it is over, of up to 100
-- RETURNS 1, or 0 where another one has the lease: nothing is noted then
-- FIRST WRITE PEXPIRE
local teller, alerts = KEYS[1], KEYS[2]
local token, lease, kept = unpack(ARGV, 1, 3)
local refusal = bad('STRLEN', teller) or bad('HLEN', alerts)
if refusal then return refusal end
local holder = redis.call('GET', teller)
if holder and holder ~= token then return 0 end

redis.call('PEXPIRE', teller, lease) -- 0 removes it
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', alerts, ARGV[i])
  else
    redis.call('HSET', alerts, ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', alerts, kept)
if lease ~= '0' then redis.call('SET', teller, token, 'PX', lease) end
return 1
