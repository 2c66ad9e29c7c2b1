/** What changes are signed with. */

import { script, type Script } from './script.ts';

/** ARGV: a secret, for a namespace that has none. Answers with the secret of this one, and the last stamp that was given. */
export const seal: Script = script({
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
