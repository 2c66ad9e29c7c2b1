/** The agent itself. */

import type { CallOptions } from '@incumbent/core';

import type { Client } from '../client/client.ts';
import { fields, parse, text } from './json.ts';

/** `1.8.7`. Needs the right to read the agent, which elections do not. */
export async function agentVersion(client: Client, options: CallOptions): Promise<string> {
  const answer = await client.request({ method: 'GET', path: '/v1/agent/self' }, options);
  return text(fields(fields(parse(answer.text)).get('Config')), 'Version');
}
