-- which, id, count, claims, reason, error -> 1 when the claim still held
local stream, id = streams[tonumber(ARGV[3])], ARGV[4]
if not holds(stream, id, ARGV[5]) then return 0 end
local m = entry(stream, id)
if m then bury(m, stream, id, ARGV[6], ARGV[7], ARGV[8]) else drop(stream, id) end
return 1
