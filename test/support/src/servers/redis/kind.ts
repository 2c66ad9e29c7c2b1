import type { ServerKind } from '../kind.ts';
import { ctlArgs } from './ctl.ts';
import { isSentinelServing, isServing, leadershipOf, sentinelVersionOf, versionOf } from './status.ts';

export const redisKind: ServerKind = {
  name: 'Redis',
  serves: isServing,
  versionOf,
  leadershipOf,
  ctl: (run, _endpoints, server, args) => run('redis-cli', ctlArgs(server, args)),
};

export const sentinelKind: ServerKind = {
  ...redisKind,
  name: 'Redis Sentinel',
  serves: isSentinelServing,
  versionOf: sentinelVersionOf,
};
