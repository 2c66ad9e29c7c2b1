import type { ServerKind } from '../kind.ts';
import { ctlArgs } from './ctl.ts';
import { isServing, leadershipOf, versionOf } from './status.ts';

export const postgresKind: ServerKind = {
  name: 'PostgreSQL',
  serves: isServing,
  versionOf,
  leadershipOf,
  ctl: (run, endpoints, server, args) => run('psql', ctlArgs({ ...server, url: endpoints[0] ?? server.url }, args)),
};
