import type { ServerKind } from '../kind.ts';
import { ctlArgs } from './ctl.ts';
import type { ClusterPlan } from './plan.ts';
import { isServing, leadershipOf, versionOf } from './status.ts';

export function consulKind(plan: ClusterPlan): ServerKind {
  const { managementToken } = plan;
  return {
    name: 'Consul',
    serves: (agent) => isServing(agent, managementToken),
    versionOf: (agent) => versionOf(agent, managementToken),
    leadershipOf: (agent) => leadershipOf(agent, managementToken),
    ctl: (run, endpoints, agent, args) => run('consul', ctlArgs(endpoints[0] ?? agent.url, args, plan)),
  };
}
