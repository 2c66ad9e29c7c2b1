import type { ServerKind } from '../kind.ts';
import { ctlArgs } from './ctl.ts';
import { isHealthy, leadershipOf, versionOf } from './status.ts';

export const etcdKind: ServerKind = {
  name: 'etcd',
  serves: ({ url, tls }) => isHealthy(url, tls),
  versionOf: ({ url, tls }) => versionOf(url, tls),
  leadershipOf,
  ctl: (run, endpoints, server, args) => run('etcdctl', ctlArgs(endpoints, server, args)),
};
