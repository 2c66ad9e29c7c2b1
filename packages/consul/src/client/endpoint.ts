/** Where an agent's HTTP API is. */

import type { Socket } from 'node:net';

import type { Endpoint } from '@incumbent/network';

/** Opens a socket to the agent. One that resolves after the signal's abort is destroyed by whoever asked. */
export type Connect = (endpoint: Endpoint, signal: AbortSignal) => Promise<Socket>;
