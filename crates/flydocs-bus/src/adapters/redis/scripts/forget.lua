-- removes the group of this topic with all it owed
for _, type in ipairs(redis.call('SMEMBERS', KEYS[5])) do redis.call('DEL', KEYS[6] .. 'type:' .. type) end
for _, key in ipairs(redis.call('HKEYS', KEYS[4])) do redis.call('DEL', KEYS[6] .. 'key:' .. key) end
local gone = redis.pcall('XGROUP', 'DESTROY', KEYS[1], group)
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return 0
