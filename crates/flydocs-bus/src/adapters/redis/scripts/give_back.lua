-- which, id, count, delay, claims, failures, error -> 1 when the claim still held
local stream, id = streams[tonumber(ARGV[3])], ARGV[4]
if not holds(stream, id, ARGV[5]) then return 0 end
local m = entry(stream, id)
if m then
  local delay = tonumber(ARGV[6])
  m.n, m.f = ARGV[7], ARGV[8]
  if ARGV[9] ~= '' then m.r = ARGV[9] end
  if m.k ~= '' then m.o = '1' end
  if delay > 0 then
    -- Equal entries of one event stay two.
    m.id = stream .. id
    redis.call('ZADD', KEYS[3], now() + delay, cmsgpack.pack(m))
  else
    put_back(m)
  end
end
drop(stream, id)
return 1
