/**
 * What all scripts share, in Lua. `KEYS[1]` is the namespace as a hash tag, `{my-app}`, which every other key is derived from and begins with: one
 * namespace is one slot of a cluster. `ARGV[1]` is the channel on which changes are told.
 *
 * | key | type | holds |
 * | --- | --- | --- |
 * | `{my-app}/<key>` | hash | `v` value, `r` revision, `o` order, `l` lease: empty where there is none |
 * | `{my-app}:index:<prefix>` | sorted set | the keys under a prefix, at any depth, by order |
 * | `{my-app}:lease:<id>` | string that expires | the ttl that a renewal gives it again, in ms |
 * | `{my-app}:bound:<id>` | set | the keys that live by the lease |
 * | `{my-app}:leases` | sorted set | all leases, by when somebody should see whether they live |
 * | `{my-app}:clock` | string | the last stamp that was given |
 * | `{my-app}:secret` | string | what changes are signed with |
 *
 * **Stamps** are revisions and orders: microseconds of the server's clock, but always above the last stamp. So they never repeat while the server keeps
 * its data, and after it has lost them they go on above those that it gave before, as long as its clock is right.
 *
 * **A key whose lease is gone is absent**: whoever meets one removes it, and all others of that lease, before anything else. Within a script time stands
 * still, so that a lease that lives at its first line lives at its last.
 *
 * **Changes** are told in one message a script: `d` and a key that is gone; `p` and a key, its revision, order, lease, that lease's time left in ms, and
 * value; `u` and a key that has changed, where the value is long. Each word is preceded by its length and a colon. Before them stand a signature and a
 * stamp: whoever may publish on the channel, and may not read the namespace, can neither make such a message nor repeat one.
 */
export const PRELUDE = `
local ns, channel = KEYS[1], ARGV[1]

local function worded(word) return #word .. ':' .. word end

local words = {}
local function tell(...)
  for _, word in ipairs({...}) do words[#words + 1] = worded(word) end
end

local function place(key) return ns .. '/' .. key end
local function leaseAt(id) return ns .. ':lease:' .. id end
local function boundAt(id) return ns .. ':bound:' .. id end
local CLOCK, LEASES, SECRET = ns .. ':clock', ns .. ':leases', ns .. ':secret'

local last
local function stamp()
  if last then
    last = last + 1
  else
    local now = redis.call('TIME')
    last = math.max(now[1] * 1000000 + now[2], (redis.call('GET', CLOCK) or 0) + 1)
  end
  return string.format('%.0f', last)
end

local function secretOf()
  local secret = redis.pcall('GET', SECRET)
  if type(secret) == 'string' and #secret >= 32 then return secret end
end

local function publish()
  local secret, payload = secretOf(), worded(stamp()) .. table.concat(words)
  -- Where there is no secret nobody takes the message: whoever listens asks for the secret, which makes one, and looks.
  local signature = secret and redis.sha1hex(secret .. redis.sha1hex(secret .. payload)) or ''
  redis.call('PUBLISH', channel, signature .. payload)
end

local function done(answer)
  if #words > 0 then publish() end
  if last then redis.call('SET', CLOCK, string.format('%.0f', last)) end
  return answer
end

local lefts = {}
local GONE = -2
local function left(id)
  if lefts[id] then return lefts[id] end
  local time = redis.call('PTTL', leaseAt(id))
  if time > 0 then
    -- A clock that was set back would let it live on for as long.
    local ttl = tonumber(redis.pcall('GET', leaseAt(id)))
    if ttl and time > ttl then
      redis.call('PEXPIRE', leaseAt(id), ttl)
      time = ttl
    end
  end
  lefts[id] = time
  return time
end

-- A server cuts off whoever listens on a channel and asks for 32 MiB at once, and with that all else that is under way there. And whoever asks takes
-- 1 KiB of memory for an entry besides its key and value.
local MOST, size = 16 * 1024 * 1024, 0
local function fits(entry)
  size = size + #entry.v + #entry.key + 1024
  return size <= MOST
end

local function eachAbove(key, visit)
  local at = string.find(key, '/', 1, true)
  while at do
    visit(ns .. ':index:' .. string.sub(key, 1, at - 1))
    at = string.find(key, '/', at + 1, true)
  end
end

-- So many words of one command fit onto the stack of Lua.
local AT_ONCE = 1000
local function callAll(command, first, rest)
  for at = 1, #rest, AT_ONCE do
    local to = math.min(at + AT_ONCE - 1, #rest)
    if first then
      redis.call(command, first, unpack(rest, at, to))
    else
      redis.call(command, unpack(rest, at, to))
    end
  end
end

local function removeAll(keys)
  local places, above = {}, {}
  for _, key in ipairs(keys) do
    places[#places + 1] = place(key)
    eachAbove(key, function(index)
      local members = above[index] or {}
      above[index] = members
      members[#members + 1] = key
    end)
    tell('d', key)
  end
  callAll('DEL', nil, places)
  for index, members in pairs(above) do callAll('ZREM', index, members) end
end

local function remove(key) removeAll({ key }) end

local function purge(id)
  local keys = {}
  for _, key in ipairs(redis.call('SMEMBERS', boundAt(id))) do
    if redis.pcall('HGET', place(key), 'l') == id then keys[#keys + 1] = key end
  end
  removeAll(keys)
  redis.call('DEL', boundAt(id), leaseAt(id))
  redis.call('ZREM', LEASES, id)
  lefts[id] = GONE
end

local function parentOf(key)
  return string.match(key, '^(.*)/[^/]*$') or ''
end

-- What somebody else has put in the place of a key.
local function foreign(key)
  local value = redis.pcall('GET', place(key))
  if type(value) ~= 'string' then value = '' end
  local order = redis.call('ZSCORE', ns .. ':index:' .. parentOf(key), key) or '0'
  return { key = key, r = 'x' .. redis.sha1hex(value), o = order, l = '', v = value, foreign = true }
end

local function load(key, bare)
  local row = redis.pcall('HMGET', place(key), 'r', 'o', 'l', bare and 'o' or 'v')
  if row.err then return foreign(key) end
  local lease = row[3]
  if not row[1] or not row[2] or not lease then return nil end
  if lease ~= '' and left(lease) == GONE then
    remove(key)
    purge(lease)
    return nil
  end
  return { key = key, r = bare and '' or row[1], o = row[2], l = lease, v = bare and '' or row[4] or '' }
end

local function shown(entry)
  if not entry then return {} end
  local time = entry.l == '' and -1 or left(entry.l)
  return { entry.key, entry.r, entry.o, entry.l, tostring(time), entry.v }
end

local function write(key, current, value, lease)
  local revision = stamp()
  local order = revision
  if current and not current.foreign then order = current.o end
  if current and current.foreign then redis.call('DEL', place(key)) end
  redis.call('HSET', place(key), 'r', revision, 'o', order, 'l', lease, 'v', value)
  if order == revision then eachAbove(key, function(index) redis.call('ZADD', index, order, key) end) end
  if current and current.l ~= '' and current.l ~= lease then redis.call('SREM', boundAt(current.l), key) end
  if lease ~= '' then redis.call('SADD', boundAt(lease), key) end
  if #value > 2048 then
    tell('u', key)
  else
    tell('p', unpack(shown({ key = key, r = revision, o = order, l = lease, v = value })))
  end
  return revision
end
`;
