-- (which, id, count, ordering key)... -> 1 for each that still held
local kept = {}
for i = 3, #ARGV, 4 do
  local stream, id = streams[tonumber(ARGV[i])], ARGV[i + 1]
  if holds(stream, id, ARGV[i + 2]) then
    drop(stream, id)
    release(ARGV[i + 3])
    kept[#kept + 1] = 1
  else
    kept[#kept + 1] = 0
  end
end
return kept
