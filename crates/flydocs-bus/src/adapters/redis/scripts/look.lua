-- lease -> due, suspects, milliseconds until the next is due (-1: none)
local lease = tonumber(ARGV[3])
local due, suspects, next_due = 0, 0, -1
local function soon(wait) if next_due < 0 or wait < next_due then next_due = wait end end
for _, stream in ipairs(streams) do
  local seen = nil
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local g = map(info)
    if g.name == group then seen = g['last-delivered-id'] end
  end
  if not seen then return redis.error_reply('NOGROUP ' .. stream .. ' has no group ' .. group) end
  if redis.call('XREAD', 'COUNT', 1, 'STREAMS', stream, seen) then due = 1 end
  for _, p in ipairs(redis.call('XPENDING', stream, group, '-', '+', 1000)) do
    if p[3] >= lease then
      local m = entry(stream, p[1])
      if m and number(m.n) + p[4] - number(m.f) >= 2 then suspects = 1 else due = 1 end
    else
      soon(lease - p[3])
    end
  end
end
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
if #first > 0 then
  local wait = tonumber(first[2]) - now()
  if wait <= 0 then due = 1 else soon(math.ceil(wait)) end
end
for i = 4, #ARGV do
  if redis.call('EXISTS', KEYS[6] .. 'type:' .. ARGV[i]) == 1 then due = 1 end
end
return { due, suspects, next_due }
