export type { Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openConsul } from './open.ts';
export type { ConsulOptions, SessionBinding } from './options.ts';
export type { Connect } from './client/endpoint.ts';
