-- lease -> undrained, due, delayed, in flight, suspects, dead letters, oldest due in ms (-1: none)
local lease, at = tonumber(ARGV[3]), now()
local unread, due, delayed, in_flight, suspects, oldest = 0, 0, 0, 0, 0, -1
local function age(ms) if ms > oldest then oldest = ms end end
for _, stream in ipairs(streams) do
  local infos = redis.pcall('XINFO', 'GROUPS', stream)
  if infos.err then infos = {} end
  for _, info in ipairs(infos) do
    local g = map(info)
    if g.name == group then
      local seen = g['last-delivered-id']
      local first = redis.call('XRANGE', stream, '(' .. seen, '+', 'COUNT', 1)
      if #first > 0 then
        age(at - tonumber(string.match(first[1][1], '^%d+')))
        local lag = g.lag or #redis.call('XRANGE', stream, '(' .. seen, '+', 'COUNT', 10000)
        due = due + math.max(lag, 1)
      end
      for _, p in ipairs(redis.call('XPENDING', stream, group, '-', '+', 10000)) do
        local m = entry(stream, p[1])
        if m and number(m.n) + p[4] - number(m.f) >= 2 then suspects = suspects + 1 end
        if p[3] >= lease then
          due = due + 1
          age(p[3] - lease)
        else
          in_flight = in_flight + 1
        end
      end
    end
  end
end
delayed = redis.call('ZCOUNT', KEYS[3], '(' .. at, '+inf')
due = due + redis.call('ZCOUNT', KEYS[3], '-inf', at)
for _, type in ipairs(redis.call('SMEMBERS', KEYS[5])) do
  due = due + redis.call('LLEN', KEYS[6] .. 'type:' .. type)
end
for _, key in ipairs(redis.call('HKEYS', KEYS[4])) do
  due = due + redis.call('LLEN', KEYS[6] .. 'key:' .. key)
end
return { unread, due, delayed, in_flight, suspects, oldest }
