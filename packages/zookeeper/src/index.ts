export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openZookeeper } from './open.ts';
export type { Credentials, ZookeeperOptions } from './options.ts';
