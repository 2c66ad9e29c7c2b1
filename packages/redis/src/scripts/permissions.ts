/** What this user lacks. */

import { script, type Script } from './script.ts';

/**
 * Answers with the commands that the user may not run as the scripts do, on the keys and the channel that they use. A script that were stopped in its
 * middle for a missing right would have done half of its work.
 */
export const rights: Script = script({
  flags: ['no-writes', 'allow-oom', 'allow-stale'],
  body: `
local places = { place('right'), ns .. ':index:right', leaseAt('right'), boundAt('right'), LEASES, CLOCK }
-- A script that the server does not know any more is given to it by EVAL.
local asked = { { 'time' }, { 'eval', 'return 1', '1', places[1] } }
for _, key in ipairs(places) do
  for _, command in ipairs({
    { 'get', key }, { 'set', key, '1' }, { 'del', key }, { 'pttl', key }, { 'pexpire', key, '1' },
    { 'hmget', key, 'r' }, { 'hget', key, 'r' }, { 'hset', key, 'r', '1' },
    { 'sadd', key, '1' }, { 'srem', key, '1' }, { 'smembers', key },
    { 'zadd', key, '1', '1' }, { 'zrem', key, '1' }, { 'zscore', key, '1' },
    { 'zrangebyscore', key, '1', '1' }, { 'zrevrangebyscore', key, '1', '1' },
  }) do
    asked[#asked + 1] = command
  end
end
asked[#asked + 1] = { 'publish', channel, '1' }
asked[#asked + 1] = { 'subscribe', channel }
local missing, named = {}, {}
for _, command in ipairs(asked) do
  local name = command[1]
  if not named[name] and not redis.acl_check_cmd(unpack(command)) then
    named[name] = true
    missing[#missing + 1] = name
  end
end
return missing
`,
});
