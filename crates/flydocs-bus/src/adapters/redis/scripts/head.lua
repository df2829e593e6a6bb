-- What every script begins with. Keys of one topic and one group:
-- 1 the topic's stream, 2 what came back to the group (a stream), 3 what waits for its time (sorted by when),
-- 4 the ordering keys that are taken, 5 the event types of the group, 6 the prefix of queues behind a key or a type,
-- 7 the channel that wakes, 8 the dead letters (a stream), 9 what counts them.
-- Fields of an entry: e event, t type, p payload, h headers, k ordering key, c published, a due first,
-- and of one that came back: n claims before, f failures, o = 1 when it has its ordering key, r the last error.
local group, me = ARGV[1], ARGV[2]
local streams = { KEYS[1], KEYS[2] }

local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function map(list)
  local m = {}
  for i = 1, #list, 2 do m[list[i]] = list[i + 1] end
  return m
end

local function flat(m)
  local list = {}
  for field, value in pairs(m) do
    list[#list + 1] = field
    list[#list + 1] = value
  end
  return list
end

local function entry(stream, id)
  local found = redis.call('XRANGE', stream, id, id)
  if #found == 0 then return nil end
  return map(found[1][2])
end

local function number(text) return tonumber(text or '0') or 0 end

local function wake() redis.call('PUBLISH', KEYS[7], '') end

local function put_back(m) redis.call('XADD', KEYS[2], '*', unpack(flat(m))) end

-- The entry is out of the consumer's hands.
local function drop(stream, id)
  redis.call('XACK', stream, group, id)
  if stream == KEYS[2] then redis.call('XDEL', stream, id) end
end

-- The next of the ordering key may go, or the key is free.
local function release(key)
  if key == nil or key == '' then return end
  local waiting = redis.call('LPOP', KEYS[6] .. 'key:' .. key)
  if waiting then
    local m = cmsgpack.unpack(waiting)
    m.o = '1'
    put_back(m)
    wake()
  else
    redis.call('HDEL', KEYS[4], key)
  end
end

-- Whether this very claim still holds.
local function holds(stream, id, count)
  local pending = redis.call('XPENDING', stream, group, id, id, 1)
  return #pending == 1 and pending[1][2] == me and pending[1][4] == tonumber(count)
end

local function bury(m, stream, id, claims, reason, error)
  local letter = redis.call('INCR', KEYS[9])
  redis.call('XADD', KEYS[8], letter .. '-0', 'g', group, 'd', KEYS[1], 'b', KEYS[2], 'w', KEYS[7], 'e', m.e, 't', m.t,
    'p', m.p, 'h', m.h, 'k', m.k, 'c', m.c, 'a', m.a, 'n', claims, 'reason', reason, 'error', error, 'at', now())
  drop(stream, id)
  release(m.k)
end
