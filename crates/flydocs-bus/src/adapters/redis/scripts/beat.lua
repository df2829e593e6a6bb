-- (which, id, count)... -> 1 for each that still holds
local kept = {}
for i = 3, #ARGV, 3 do
  local stream, id = streams[tonumber(ARGV[i])], ARGV[i + 1]
  if holds(stream, id, ARGV[i + 2]) then
    redis.call('XCLAIM', stream, group, me, 0, id, 'JUSTID')
    kept[#kept + 1] = 1
  else
    kept[#kept + 1] = 0
  end
end
return kept
