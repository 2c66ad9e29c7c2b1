/** Leases: keys that expire. */

import { script, type Script } from './script.ts';

/** ARGV: id, ttl. Looks after a few leases that nobody has renewed, so that what nobody reads does not stay. */
export const grant: Script = script({
  body: `
local id, ttl = ARGV[2], ARGV[3]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for _, other in ipairs(redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 8)) do
  local time = left(other)
  if time == GONE then
    purge(other)
  else
    redis.call('ZADD', LEASES, now + math.max(time, 1000), other)
  end
end
redis.call('SET', leaseAt(id), ttl, 'PX', ttl)
redis.call('ZADD', LEASES, now + ttl, id)
return done(1)
`,
});

/** ARGV: id. The ttl; 0 where the lease is gone. */
export const renew: Script = script({
  flags: ['allow-oom'],
  body: `
local id = ARGV[2]
local ttl = redis.call('GET', leaseAt(id))
if not ttl then
  purge(id)
  return done(0)
end
redis.call('PEXPIRE', leaseAt(id), ttl)
return done(tonumber(ttl))
`,
});

/** ARGV: id. */
export const revoke: Script = script({
  flags: ['allow-oom'],
  body: `
purge(ARGV[2])
return done(1)
`,
});

/** ARGV: ids. How many ms each has left; -2 where it is gone, -1 where an operator has made it last. */
export const lefts: Script = script({
  flags: ['allow-oom'],
  body: `
local times = {}
for at = 2, #ARGV do
  local time = left(ARGV[at])
  if time == GONE then purge(ARGV[at]) end
  times[#times + 1] = time
end
return done(times)
`,
});
