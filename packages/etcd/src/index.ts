export type { Connect, Endpoint, Pem, PemFile, TlsOptions } from '@incumbent/network';
export { openEtcd } from './open.ts';
export type { EtcdOptions, KeepaliveOptions } from './options.ts';
export type { Credentials } from './protocol/admin.ts';
