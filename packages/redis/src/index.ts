export { openRedis } from './open.ts';
export type { RedisOptions } from './options.ts';
export type { Endpoint } from './wire/endpoint.ts';
export type { Credentials } from './wire/greeting.ts';
export type { Connect, TlsOptions } from './wire/socket.ts';
