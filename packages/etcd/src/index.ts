export { openEtcd } from './open.ts';
export type { EtcdOptions, KeepaliveOptions } from './options.ts';
export type { Endpoint } from './grpc/session.ts';
export type { TlsOptions } from './grpc/socket.ts';
export type { Credentials } from './wire/admin.ts';
