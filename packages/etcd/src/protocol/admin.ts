/** What is asked of etcd besides keys and leases: a token for a password, and its version. */

import { Reader, Writer } from './protobuf.ts';
import type { Rpc } from './rpc.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Answers with a token, to be sent with every request. */
export const authenticate: Rpc<Credentials, string> = {
  name: 'Authenticate',
  path: '/etcdserverpb.Auth/Authenticate',
  encode: ({ username, password }) => new Writer().string(1, username).string(2, password).finish(),
  decode: (message) => readString(message, 2),
};

/** Answers with the version of the member that was asked: `3.5.16`. */
export const status: Rpc<void, string> = {
  name: 'Status',
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => new Uint8Array(0),
  decode: (message) => readString(message, 2),
};

function readString(message: Uint8Array, wanted: number): string {
  const reader = new Reader(message);
  let found = '';
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === wanted) found = reader.string();
  }
  return found;
}
