import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { InstancePlan } from '../instance.ts';
import { configOf } from './config.ts';
import type { AgentPlan, ClusterPlan } from './plan.ts';

/** Writes an agent's files, and returns how to start it. */
export async function instancePlan(self: AgentPlan, all: readonly AgentPlan[], cluster: ClusterPlan): Promise<InstancePlan> {
  const { folder } = cluster;
  const data = join(folder, self.name);
  const config = join(folder, `${self.name}.json`);
  await mkdir(data);
  await writeFile(config, JSON.stringify(configOf(self, all, { ...cluster, data })));
  return { program: 'consul', name: self.name, folder, args: ['agent', `-config-file=${config}`] };
}
