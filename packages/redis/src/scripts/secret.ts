/** The secret that scripts sign their messages with. */

import { script, type Script } from './script.ts';

/**
 * ARGV: a new secret, which is stored if the namespace has none. Answers with the secret, and the
 * last stamp that was given.
 */
export const secretScript: Script = script({
  flags: ['allow-oom'],
  body: `
local secret = secretOf()
if not secret then
  secret = ARGV[2]
  redis.call('SET', SECRET, secret)
end
return done({ secret, redis.call('GET', CLOCK) or '0' })
`,
});
