export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export type { Credentials } from './client/greeting.ts';
export type { RedisClient, RedisClientOptions, SentinelClientOptions } from './client-option/client-option.ts';
export { openRedis } from './open.ts';
export type { RedisOptions, SentinelOptions } from './options.ts';
