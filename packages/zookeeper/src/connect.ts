/** From settings to how servers are reached. */

import { systemRandom } from '@incumbent/core/adapter';
import { SharedAllowance } from '@incumbent/network';

import type { ZookeeperSettings } from './options.ts';
import type { ClientOptions } from './client/client.ts';

/** Of the session for reads and watches: a dead link is noticed within two thirds of it. */
const SHARED_TIMEOUT_MS = 6_000;

/** One server may take so long to accept, and then to agree to a session. */
const SERVER_TIMEOUT_MS = 2_000;

export function clientOptionsOf({ clock, connect, endpoints, auths, connectTimeoutMs }: ZookeeperSettings): ClientOptions {
  const perServerMs = Math.min(connectTimeoutMs, SERVER_TIMEOUT_MS);
  return {
    clock,
    random: systemRandom,
    connect,
    endpoints,
    auths,
    answers: new SharedAllowance(),
    connectTimeoutMs: perServerMs,
    handshakeTimeoutMs: perServerMs,
    timeoutMs: SHARED_TIMEOUT_MS,
  };
}
