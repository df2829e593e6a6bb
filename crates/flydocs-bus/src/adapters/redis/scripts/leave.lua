-- -> how many this member still held; all of it goes back without counting, and the member is removed
local back = 0
for _, stream in ipairs(streams) do
  for _, p in ipairs(redis.call('XPENDING', stream, group, '-', '+', 10000, me)) do
    local m = entry(stream, p[1])
    if m then
      m.n = number(m.n) + p[4] - 1
      if m.k ~= '' then m.o = '1' end
      put_back(m)
      back = back + 1
    end
    drop(stream, p[1])
  end
  redis.call('XGROUP', 'DELCONSUMER', stream, group, me)
end
if back > 0 then wake() end
return back
