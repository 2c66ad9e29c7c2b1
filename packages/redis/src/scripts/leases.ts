/** Leases: keys that expire. */

import { script, type Script } from './script.ts';

/**
 * ARGV: id, ttl. Also removes the keys of up to eight other leases that have ended, so that keys
 * which nobody reads do not stay for ever.
 */
export const grantScript: Script = script({
  body: `
local id, ttl = ARGV[2], ARGV[3]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for _, other in ipairs(redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 8)) do
  local time = remaining(other)
  if time == ENDED then
    endLease(other)
  else
    redis.call('ZADD', LEASES, now + math.max(time, 1000), other)
  end
end
redis.call('SET', leaseName(id), ttl, 'PX', ttl)
redis.call('ZADD', LEASES, now + ttl, id)
return done(1)
`,
});

/** ARGV: id. Answers with the ttl; with 0 if the lease has ended. */
export const renewScript: Script = script({
  flags: ['allow-oom'],
  body: `
local id = ARGV[2]
local ttl = redis.call('GET', leaseName(id))
if not ttl then
  endLease(id)
  return done(0)
end
redis.call('PEXPIRE', leaseName(id), ttl)
return done(tonumber(ttl))
`,
});

/** ARGV: id. */
export const revokeScript: Script = script({
  flags: ['allow-oom'],
  body: `
endLease(ARGV[2])
return done(1)
`,
});

/**
 * ARGV: ids. Answers with the ms that each has left; -2 if it has ended, -1 if an operator has
 * removed its end.
 */
export const remainingScript: Script = script({
  flags: ['allow-oom'],
  body: `
local times = {}
for at = 2, #ARGV do
  local time = remaining(ARGV[at])
  if time == ENDED then endLease(ARGV[at]) end
  times[#times + 1] = time
end
return done(times)
`,
});
