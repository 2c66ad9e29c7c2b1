export type { Connect, Endpoint, TlsOptions } from '@incumbent/network';
export { openEtcd } from './open.ts';
export type { EtcdOptions, KeepaliveOptions } from './options.ts';
export type { Credentials } from './wire/admin.ts';
