-- where the group begins, types... ; events of types that are new to the group and still kept are handed out too
local begin = ARGV[3]
for which, stream in ipairs(streams) do
  local made = redis.pcall('XGROUP', 'CREATE', stream, group, which == 1 and begin or '0', 'MKSTREAM')
  if made.err and not string.find(made.err, 'BUSYGROUP') then return made end
end
local seen = '0-0'
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local g = map(info)
  if g.name == group then seen = g['last-delivered-id'] end
end
local known = redis.call('SCARD', KEYS[5])
local fresh, any = {}, false
for i = 4, #ARGV do
  if redis.call('SADD', KEYS[5], ARGV[i]) == 1 then
    fresh[ARGV[i]] = true
    any = true
  end
end
if known == 0 or not any or begin == '$' then return 0 end
local moved, from = 0, '-'
while true do
  local page = redis.call('XRANGE', KEYS[1], from, seen, 'COUNT', 500)
  if #page == 0 then break end
  for _, new in ipairs(page) do
    local m = map(new[2])
    if fresh[m.t] then
      put_back(m)
      moved = moved + 1
    end
  end
  from = '(' .. page[#page][1]
end
return moved
