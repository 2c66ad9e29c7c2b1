/** etcd's `Auth` and `Maintenance` services: a token for a password, and the version. */

import type { UserCredentials } from '@incumbent/network';

import { Reader, Writer } from './protobuf.ts';
import { MAX_SHORT_BYTES, type Rpc } from './rpc.ts';

/** Answers with a token, which every later request must contain. */
export const authenticate: Rpc<UserCredentials, string> = {
  name: 'Authenticate',
  path: '/etcdserverpb.Auth/Authenticate',
  maxBytes: MAX_SHORT_BYTES,
  repeatable: true,
  encode: ({ username, password }) => new Writer().string(1, username).string(2, password).finish(),
  decode: (message) => readString(message, 2),
};

/** Answers with the version of the member, such as `3.5.16`. */
export const status: Rpc<void, string> = {
  name: 'Status',
  path: '/etcdserverpb.Maintenance/Status',
  maxBytes: MAX_SHORT_BYTES,
  repeatable: true,
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
