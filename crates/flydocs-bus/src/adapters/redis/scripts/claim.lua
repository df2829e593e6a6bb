-- limit, lease, suspects only, most unsettled claims, types of this member -> more, then what was claimed
local limit, lease = tonumber(ARGV[3]), tonumber(ARGV[4])
local suspects, most = ARGV[5] == '1', tonumber(ARGV[6])
local mine = {}
for i = 7, #ARGV do mine[ARGV[i]] = true end
local out = {}

local function give(which, id, count, m)
  out[#out + 1] = { which, id, count, m.e, m.t, m.p, m.h, m.k, m.c, m.a, number(m.n) + count, number(m.f) }
end

-- Leases that ran out.
for which, stream in ipairs(streams) do
  for _, p in ipairs(redis.call('XPENDING', stream, group, 'IDLE', lease, '-', '+', 1000)) do
    if #out >= limit then break end
    local m = entry(stream, p[1])
    if not m then
      drop(stream, p[1])
    else
      local unsettled = number(m.n) + p[4] - number(m.f)
      if unsettled < most and (unsettled >= 2) == suspects and mine[m.t] then
        redis.call('XCLAIM', stream, group, me, 0, p[1])
        give(which, p[1], p[4] + 1, m)
      end
    end
  end
end
if suspects then return { 0, out } end

-- What has its time now, and what waited for a member that handles its type.
local due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now(), 'LIMIT', 0, 200)
for _, packed in ipairs(due) do
  put_back(cmsgpack.unpack(packed))
  redis.call('ZREM', KEYS[3], packed)
end
for type in pairs(mine) do
  for _ = 1, 200 do
    local packed = redis.call('LPOP', KEYS[6] .. 'type:' .. type)
    if not packed then break end
    put_back(cmsgpack.unpack(packed))
  end
end

-- New ones, those that came back first; no more than there are free slots.
local read, more = 0, #due == 200
for which = 2, 1, -1 do
  local stream = streams[which]
  while #out < limit do
    if read >= 1000 then more = true break end
    local found = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', limit - #out, 'STREAMS', stream, '>')
    if not found then break end
    for _, new in ipairs(found[1][2]) do
      read = read + 1
      local id, m = new[1], map(new[2])
      local key = m.k
      if not mine[m.t] then
        if redis.call('SISMEMBER', KEYS[5], m.t) == 1 then
          redis.call('RPUSH', KEYS[6] .. 'type:' .. m.t, cmsgpack.pack(m))
        end
        drop(stream, id)
      elseif key ~= '' and m.o ~= '1' and redis.call('HSETNX', KEYS[4], key, '1') == 0 then
        redis.call('RPUSH', KEYS[6] .. 'key:' .. key, cmsgpack.pack(m))
        drop(stream, id)
      else
        give(which, id, 1, m)
      end
    end
  end
end
return { more and 1 or 0, out }
