export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openRedis } from './open.ts';
export type { RedisOptions } from './options.ts';
export type { Credentials } from './client/greeting.ts';
