-- 1 a topic's stream; keep at least so many milliseconds, and whatever a group has not settled -> how many were removed
local infos = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if infos.err then return 0 end
local function less(a, b)
  local a1, a2 = string.match(a, '^(%d+)-(%d+)$')
  local b1, b2 = string.match(b, '^(%d+)-(%d+)$')
  a1, a2, b1, b2 = tonumber(a1), tonumber(a2), tonumber(b1), tonumber(b2)
  return a1 < b1 or (a1 == b1 and a2 < b2)
end
local t = redis.call('TIME')
local low = string.format('%.0f-0', math.max(0, t[1] * 1000 + math.floor(t[2] / 1000) - tonumber(ARGV[1])))
for _, info in ipairs(infos) do
  local g = {}
  for i = 1, #info, 2 do g[info[i]] = info[i + 1] end
  local first = redis.call('XPENDING', KEYS[1], g.name, '-', '+', 1)
  local owed = #first > 0 and first[1][1] or g['last-delivered-id']
  if less(owed, low) then low = owed end
  -- Whoever died with nothing in its hands is forgotten after an hour.
  for _, member in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], g.name)) do
    local m = {}
    for i = 1, #member, 2 do m[member[i]] = member[i + 1] end
    if m.pending == 0 and m.idle > 3600000 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], g.name, m.name) end
  end
end
return redis.call('XTRIM', KEYS[1], 'MINID', '~', low)
