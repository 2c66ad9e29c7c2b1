/** Leader election over Consul: `openConsul` and its options. */

export type { Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export type { Connect } from './client/connections.ts';
export { openConsul } from './open.ts';
export type { ConsulOptions, SessionBinding } from './options.ts';
