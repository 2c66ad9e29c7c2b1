/** Keys, revisions, leases and entries as ZooKeeper has them. */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';

import type { Data, Stat } from './protocol/nodes.ts';

/** The end of a queue entry's node name: the session that it lives by, and the server's counter. */
const ENTRY_NODE = /.~z[0-9a-f]{1,16}~(?:-\d{9,10}|\d{10})$/;

/** A version that no node has. */
const NO_VERSION = -2;
const MAX_VERSION = 2 ** 31 - 1;

/** The owner of container nodes, which are deleted with their last child. It is not a session. */
const CONTAINER = 2n ** 63n;

/** What the node name of a queue entry says. */
export interface EntryNode {
  readonly name: string;
  readonly lease: LeaseId;
  /** Rises with the creation of entries in one queue. */
  readonly order: bigint;
}

export class Namespace {
  /** An absolute path: `/incumbent/my-app`. */
  readonly root: string;

  constructor(root: string) {
    this.root = root.split('/').map(escapeName).join('/');
  }

  path(key: Key): string {
    return [this.root, ...key.split('/').map(escapeName)].join('/');
  }

  key(path: string): Key {
    const names = path.slice(this.root.length + 1).split('/');
    return names.map(unescapeName).join('/');
  }

  /** Undefined for a node that is not a key, because it holds nothing: a parent of others. */
  entry(path: string, { data, stat }: Data): Entry | undefined {
    if (data === undefined) return undefined;
    const [key, lease, node] = [this.key(path), leaseOf(stat), readEntryNode(lastOf(path))];
    const entry = { key, name: lastOf(key), value: data, revision: revisionOf(stat), order: stat.czxid };
    if (lease === undefined) return entry;
    return node?.lease === lease ? { ...entry, name: node.name, order: node.order, lease } : { ...entry, lease };
  }

  /** The entry of a node of which only the path is known. Its value and revision are empty. */
  bareEntry(path: string): Entry {
    const [key, node] = [this.key(path), readEntryNode(lastOf(path))];
    const bare = { key, name: lastOf(key), value: new Uint8Array(), revision: '', order: 0n };
    return node === undefined ? bare : { ...bare, ...node };
  }
}

/** The name of a queue entry's node, to which the server appends its counter. */
export function nameBeforeCounter(name: string, lease: LeaseId): string {
  return `${name}~z${lease}~`;
}

/** Whether a node is the entry with this name before the counter. */
export function isEntryNode(nodeName: string, beforeCounter: string): boolean {
  return nodeName.startsWith(beforeCounter) && /^-?\d+$/.test(nodeName.slice(beforeCounter.length));
}

/** Undefined for a node that is not a queue entry. */
export function readEntryNode(nodeName: string): EntryNode | undefined {
  const order = orderIn(nodeName);
  if (order === undefined) return undefined;
  const beforeOrder = nodeName.lastIndexOf('~');
  const beforeLease = nodeName.lastIndexOf('~', beforeOrder - 1);
  return { name: nodeName.slice(0, beforeLease), lease: nodeName.slice(beforeLease + 2, beforeOrder), order: BigInt(order) };
}

/**
 * The order of a queue entry alone, by which thousands of names are sorted. Undefined for a node
 * that is not a queue entry.
 */
export function orderIn(nodeName: string): number | undefined {
  if (!ENTRY_NODE.test(nodeName)) return undefined;
  // ZooKeeper's counter has 32 bits. After the highest number it goes on with the lowest.
  return Number(nodeName.slice(nodeName.lastIndexOf('~') + 1)) >>> 0;
}

/**
 * The version of the node, and the session that an ephemeral node lives by. A node keeps its owner
 * for life, so whoever changes the key must know the owner.
 */
export function revisionOf(stat: Stat): Revision {
  return writeRevision(stat.version, leaseOf(stat));
}

export function writeRevision(version: number, lease: LeaseId | undefined): Revision {
  return lease === undefined ? String(version) : `${version}@${lease}`;
}

export interface KnownRevision {
  readonly version: number;
  readonly lease: LeaseId | undefined;
}

/** Has a version that no node has, if the text is not a revision. */
export function readRevision(revision: Revision): KnownRevision {
  const [, version, lease] = /^(\d{1,10})(?:@([0-9a-f]{1,16}))?$/.exec(revision) ?? [];
  const known = version === undefined ? NO_VERSION : Number(version);
  return { version: known > MAX_VERSION ? NO_VERSION : known, lease };
}

/** The session's id in hexadecimal, as ZooKeeper's own tools show it. */
export function leaseIdOf(session: bigint): LeaseId {
  return BigInt.asUintN(64, session).toString(16);
}

function leaseOf({ ephemeralOwner }: Stat): LeaseId | undefined {
  const owner = BigInt.asUintN(64, ephemeralOwner);
  return owner === 0n || owner === CONTAINER ? undefined : owner.toString(16);
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** ZooKeeper does not allow the names `.` and `..`. */
function escapeName(name: string): string {
  return name === '.' || name === '..' ? name.replaceAll('.', '%2e') : name;
}

function unescapeName(name: string): string {
  return name.replaceAll('%2e', '.');
}
