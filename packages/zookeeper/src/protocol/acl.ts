/** Who may do what to a node. Not inherited: every node has its own. */

import type { Writer } from './jute.ts';

const ALL = 31;

export interface Acl {
  /** A sum: 1 read, 2 write, 4 create, 8 delete, 16 admin. */
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

/** Anybody may do anything. */
export const OPEN: readonly Acl[] = [{ permissions: ALL, scheme: 'world', id: 'anyone' }];

/** Whoever makes the node may do anything, under every identity it has shown; nobody else may. Refused to those who have shown none. */
export const CREATOR_ONLY: readonly Acl[] = [{ permissions: ALL, scheme: 'auth', id: '' }];

export function writeAcls(writer: Writer, acls: readonly Acl[]): Writer {
  return writer.vector(acls, (one, { permissions, scheme, id }) => one.int(permissions).string(scheme).string(id));
}
