/** Requests about the agent itself. */

import type { TimedCall } from '@incumbent/core';

import type { Client } from '../client/client.ts';
import { fields, parse, text } from './json.ts';

/**
 * Returns a version such as `1.8.7`. The token needs the right to read the agent, which elections
 * do not need.
 */
export function agentVersion(client: Client, options: TimedCall): Promise<string> {
  return configText(client, 'Version', options);
}

/** Returns the agent's own datacenter. The token needs the same right. */
export function agentDatacenter(client: Client, options: TimedCall): Promise<string> {
  return configText(client, 'Datacenter', options);
}

async function configText(client: Client, name: string, options: TimedCall): Promise<string> {
  const response = await client.request({ method: 'GET', path: '/v1/agent/self' }, options);
  return text(fields(fields(parse(response.text)).get('Config')), name);
}
