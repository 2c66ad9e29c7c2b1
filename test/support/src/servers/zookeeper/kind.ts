import type { ServerKind } from '../kind.ts';
import { ctlArgs, withoutGreeting, type CtlOptions } from './ctl.ts';
import { isServing, leadershipOf, versionOf } from './status.ts';

export function zookeeperKind(options: CtlOptions): ServerKind {
  return {
    name: 'ZooKeeper',
    serves: isServing,
    versionOf,
    leadershipOf,
    ctl: async (run, endpoints, _server, args) => withoutGreeting(await run('java', ctlArgs(endpoints, args, options))),
  };
}
