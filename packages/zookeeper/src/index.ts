export { openZookeeper } from './open.ts';
export type { Credentials, ZookeeperOptions } from './options.ts';
export type { Endpoint } from './wire/connect-string.ts';
export type { Connect, TlsOptions } from './wire/socket.ts';
