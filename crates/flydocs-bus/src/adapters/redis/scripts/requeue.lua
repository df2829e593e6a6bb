-- 1 the dead letters, 2 which went back; the letter -> 1 when it went back to its group
local found = redis.call('XRANGE', KEYS[1], ARGV[1] .. '-0', ARGV[1] .. '-0')
if #found == 0 then return 0 end
local m = {}
for i = 1, #found[1][2], 2 do m[found[1][2][i]] = found[1][2][i + 1] end
local t = redis.call('TIME')
if redis.call('HSETNX', KEYS[2], ARGV[1], t[1] * 1000 + math.floor(t[2] / 1000)) == 0 then return 0 end
redis.call('XADD', m.b, '*', 'e', m.e, 't', m.t, 'p', m.p, 'h', m.h, 'k', m.k, 'c', m.c, 'a', m.a)
redis.call('PUBLISH', m.w, '')
return 1
