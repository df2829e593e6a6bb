-- lease, most unsettled claims -> how many were claimed too often without being settled
local lease, most, buried = tonumber(ARGV[3]), tonumber(ARGV[4]), 0
for _, stream in ipairs(streams) do
  for _, p in ipairs(redis.call('XPENDING', stream, group, 'IDLE', lease, '-', '+', 1000)) do
    local m = entry(stream, p[1])
    local claims = m and number(m.n) + p[4] or 0
    if m and claims - number(m.f) >= most then
      bury(m, stream, p[1], claims, 'claimed repeatedly, never settled', m.r or '')
      buried = buried + 1
    end
  end
end
return buried
