export type { Connect, Endpoint, Pem, PemFile, TlsOptions, UserCredentials as Credentials } from '@incumbent/network';
export { openEtcd } from './open.ts';
export type { EtcdOptions, KeepaliveOptions } from './options.ts';
