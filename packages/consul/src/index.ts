export { openConsul } from './open.ts';
export type { ConsulOptions, SessionBinding } from './options.ts';
export type { Endpoint } from './http/endpoint.ts';
export type { Connect, TlsOptions } from './http/socket.ts';
