import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LOOPBACK } from '../../ports.ts';
import type { InstancePlan } from '../instance.ts';
import { configLines } from './config.ts';
import { javaFlags } from './flags.ts';
import type { ClusterPlan, ServerPlan } from './plan.ts';

const MAIN = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';

/**
 * Writes a server's files, and returns how to start it. `gate` is the port of the SOCKS server
 * through which it reaches the others.
 */
export async function instancePlan(
  self: ServerPlan,
  all: readonly ServerPlan[],
  cluster: ClusterPlan,
  gate: number | undefined,
): Promise<InstancePlan> {
  const { folder } = cluster;
  const data = join(folder, self.name);
  const config = join(folder, `${self.name}.cfg`);
  await mkdir(data);
  await writeFile(join(data, 'myid'), String(self.id));
  await writeFile(config, configLines(self, all, { ...cluster, data }).join('\n'));
  const args = [...javaFlags(folder, 'warn'), ...gateFlags(gate), ...modeFlags(cluster), MAIN, config];
  return { program: 'java', name: self.name, folder, args };
}

/** By default Java bypasses a SOCKS server for the loopback address. */
function gateFlags(gate: number | undefined): readonly string[] {
  return gate === undefined ? [] : [`-DsocksProxyHost=${LOOPBACK}`, `-DsocksProxyPort=${gate}`, '-DsocksNonProxyHosts='];
}

function modeFlags({ superPassword, readOnly = false, heapMb }: ClusterPlan): readonly string[] {
  // Of two limits Java takes the latter.
  const flags = [...(readOnly ? ['-Dreadonlymode.enabled=true'] : []), ...(heapMb === undefined ? [] : [`-Xmx${heapMb}m`])];
  if (superPassword === undefined) return flags;
  const digest = createHash('sha1').update(`super:${superPassword}`).digest('base64');
  return [...flags, `-Dzookeeper.DigestAuthenticationProvider.superDigest=super:${digest}`];
}
