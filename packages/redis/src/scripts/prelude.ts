/**
 * What all scripts share, in Lua. `KEYS[1]` is the namespace as a hash tag, `{my-app}`. Every other
 * key begins with it, so one namespace is one slot of a cluster. `ARGV[1]` is the channel on which
 * changes are published.
 *
 * | key | type | holds |
 * | --- | --- | --- |
 * | `{my-app}/<key>` | hash | `v` value, `r` revision, `o` order, `l` lease (empty for no lease) |
 * | `{my-app}:index:<prefix>` | sorted set | the keys under a prefix, at any depth, by order |
 * | `{my-app}:lease:<id>` | string that expires | the ttl that a renewal sets again, in ms |
 * | `{my-app}:bound:<id>` | set | the keys that are bound to the lease |
 * | `{my-app}:leases` | sorted set | all leases, by when to check whether they have ended |
 * | `{my-app}:clock` | string | the last stamp that was given |
 * | `{my-app}:secret` | string | the secret that messages are signed with |
 *
 * **Stamps** are revisions and orders: microseconds of the server's clock, but always above the
 * last stamp. So they never repeat while the server keeps its data. After the server has lost its
 * data, new stamps are above the former ones, as long as the server's clock is right.
 *
 * **A key whose lease has ended is absent.** The first script that meets such a key removes it, and
 * all other keys of the lease, before anything else. Time stands still within a script, so a lease
 * that is alive at the first line is alive at the last line.
 *
 * **Changes** are published in one message for each script, as fields: `d` and a key that was
 * deleted; `p` and a key, its revision, order, lease, the lease's remaining time in ms, and value;
 * `u` and a key whose new value is too long to publish. Each field follows its length and a colon.
 * A signature and a stamp precede them: a user who may publish on the channel and may not read the
 * namespace can neither forge a message nor repeat one.
 */
export const PRELUDE = `
local ns, channel = KEYS[1], ARGV[1]

local function prefixed(field) return #field .. ':' .. field end

local message = {}
local function addToMessage(...)
  for _, field in ipairs({...}) do message[#message + 1] = prefixed(field) end
end

local function keyName(key) return ns .. '/' .. key end
local function leaseName(id) return ns .. ':lease:' .. id end
local function boundName(id) return ns .. ':bound:' .. id end
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
  local secret, payload = secretOf(), prefixed(stamp()) .. table.concat(message)
  -- Without a secret, every store rejects the message, then asks for the secret, which creates one, and reads again.
  local signature = secret and redis.sha1hex(secret .. redis.sha1hex(secret .. payload)) or ''
  redis.call('PUBLISH', channel, signature .. payload)
end

local function done(answer)
  if #message > 0 then publish() end
  if last then redis.call('SET', CLOCK, string.format('%.0f', last)) end
  return answer
end

local remainingOf = {}
local ENDED = -2
local function remaining(id)
  if remainingOf[id] then return remainingOf[id] end
  local time = redis.call('PTTL', leaseName(id))
  if time > 0 then
    -- After the server's clock was set back, a lease would live longer than its ttl.
    local ttl = tonumber(redis.pcall('GET', leaseName(id)))
    if ttl and time > ttl then
      redis.call('PEXPIRE', leaseName(id), ttl)
      time = ttl
    end
  end
  remainingOf[id] = time
  return time
end

-- A server disconnects a subscriber for which it holds 32 MiB, which also ends the calls in flight on that connection.
-- A client needs up to 1 KiB of memory for an entry besides its key and value.
local MAX_BYTES, size = 16 * 1024 * 1024, 0
local function fits(entry)
  size = size + #entry.v + #entry.key + 1024
  return size <= MAX_BYTES
end

local function eachIndex(key, visit)
  local at = string.find(key, '/', 1, true)
  while at do
    visit(ns .. ':index:' .. string.sub(key, 1, at - 1))
    at = string.find(key, '/', at + 1, true)
  end
end

-- The stack of Lua has room for this many arguments of one command.
local MAX_ARGUMENTS = 1000
local function callAll(command, first, rest)
  for at = 1, #rest, MAX_ARGUMENTS do
    local to = math.min(at + MAX_ARGUMENTS - 1, #rest)
    if first then
      redis.call(command, first, unpack(rest, at, to))
    else
      redis.call(command, unpack(rest, at, to))
    end
  end
end

local function removeAll(keys)
  local names, above = {}, {}
  for _, key in ipairs(keys) do
    names[#names + 1] = keyName(key)
    eachIndex(key, function(index)
      local members = above[index] or {}
      above[index] = members
      members[#members + 1] = key
    end)
    addToMessage('d', key)
  end
  callAll('DEL', nil, names)
  for index, members in pairs(above) do callAll('ZREM', index, members) end
end

local function remove(key) removeAll({ key }) end

local function endLease(id)
  local keys = {}
  for _, key in ipairs(redis.call('SMEMBERS', boundName(id))) do
    if redis.pcall('HGET', keyName(key), 'l') == id then keys[#keys + 1] = key end
  end
  removeAll(keys)
  redis.call('DEL', boundName(id), leaseName(id))
  redis.call('ZREM', LEASES, id)
  remainingOf[id] = ENDED
end

local function parentOf(key)
  return string.match(key, '^(.*)/[^/]*$') or ''
end

-- A key that was written by hand and is not a hash.
local function foreign(key)
  local value = redis.pcall('GET', keyName(key))
  if type(value) ~= 'string' then value = '' end
  local order = redis.call('ZSCORE', ns .. ':index:' .. parentOf(key), key) or '0'
  return { key = key, r = 'x' .. redis.sha1hex(value), o = order, l = '', v = value, foreign = true }
end

local function load(key, bare)
  local row = redis.pcall('HMGET', keyName(key), 'r', 'o', 'l', bare and 'o' or 'v')
  if row.err then return foreign(key) end
  local lease = row[3]
  if not row[1] or not row[2] or not lease then return nil end
  if lease ~= '' and remaining(lease) == ENDED then
    remove(key)
    endLease(lease)
    return nil
  end
  return { key = key, r = bare and '' or row[1], o = row[2], l = lease, v = bare and '' or row[4] or '' }
end

local function fieldsOf(entry)
  if not entry then return {} end
  local time = entry.l == '' and -1 or remaining(entry.l)
  return { entry.key, entry.r, entry.o, entry.l, tostring(time), entry.v }
end

local function write(key, current, value, lease)
  local revision = stamp()
  local order = revision
  if current and not current.foreign then order = current.o end
  if current and current.foreign then redis.call('DEL', keyName(key)) end
  redis.call('HSET', keyName(key), 'r', revision, 'o', order, 'l', lease, 'v', value)
  if order == revision then eachIndex(key, function(index) redis.call('ZADD', index, order, key) end) end
  if current and current.l ~= '' and current.l ~= lease then redis.call('SREM', boundName(current.l), key) end
  if lease ~= '' then redis.call('SADD', boundName(lease), key) end
  if #value > 2048 then
    addToMessage('u', key)
  else
    addToMessage('p', unpack(fieldsOf({ key = key, r = revision, o = order, l = lease, v = value })))
  end
  return revision
end
`;
