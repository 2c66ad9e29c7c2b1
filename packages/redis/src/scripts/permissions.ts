/** The permissions that the user lacks. */

import { script, type Script } from './script.ts';

/**
 * Answers with the commands that the user may not run on the keys and the channel of the scripts.
 * Redis checks permissions command by command, so a script that lacks one would stop halfway.
 */
export const permissionsScript: Script = script({
  flags: ['no-writes', 'allow-oom', 'allow-stale'],
  body: `
local names = { keyName('right'), ns .. ':index:right', leaseName('right'), boundName('right'), LEASES, CLOCK }
-- EVAL is needed for a script that the server does not know any more.
local needed = { { 'time' }, { 'eval', 'return 1', '1', names[1] } }
for _, key in ipairs(names) do
  for _, command in ipairs({
    { 'get', key }, { 'set', key, '1' }, { 'del', key }, { 'pttl', key }, { 'pexpire', key, '1' },
    { 'hmget', key, 'r' }, { 'hget', key, 'r' }, { 'hset', key, 'r', '1' },
    { 'sadd', key, '1' }, { 'srem', key, '1' }, { 'smembers', key },
    { 'zadd', key, '1', '1' }, { 'zrem', key, '1' }, { 'zscore', key, '1' },
    { 'zrangebyscore', key, '1', '1' }, { 'zrevrangebyscore', key, '1', '1' },
  }) do
    needed[#needed + 1] = command
  end
end
needed[#needed + 1] = { 'publish', channel, '1' }
needed[#needed + 1] = { 'subscribe', channel }
local missing, isListed = {}, {}
for _, command in ipairs(needed) do
  local name = command[1]
  if not isListed[name] and not redis.acl_check_cmd(unpack(command)) then
    isListed[name] = true
    missing[#missing + 1] = name
  end
end
return missing
`,
});
