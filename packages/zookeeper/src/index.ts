export type { Connect, Endpoint, TlsOptions } from '@incumbent/network';
export { openZookeeper } from './open.ts';
export type { Credentials, ZookeeperOptions } from './options.ts';
