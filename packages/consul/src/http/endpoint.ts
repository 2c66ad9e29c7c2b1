/** Where an agent's HTTP API is. */

import type { Socket } from 'node:net';

import type { Endpoint } from '@incumbent/network';

/** Opens a socket to the agent. One that resolves after the signal's abort is destroyed by whoever asked. */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;

/** Whether this machine itself is meant. */
export function isLoopback({ host }: Endpoint): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
