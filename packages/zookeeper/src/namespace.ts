/** The contract's words in ZooKeeper's: paths within a namespace, revisions, leases, entries. */

import type { Entry, Key, LeaseId, Revision } from '@incumbent/core';

import type { Data } from './protocol/nodes.ts';
import type { Stat } from './protocol/stat.ts';

/** What a queue entry's name ends with: the session that it lives by, and its place, which the server puts behind it. */
const PLACED = /.~z[0-9a-f]{1,16}~(?:-\d{9,10}|\d{10})$/;

const NO_VERSION = -2;
const MAX_VERSION = 2 ** 31 - 1;

/** The owner of nodes that go with their last child, which is no session. */
const CONTAINER = 2n ** 63n;

/** A queue entry, as its name alone tells it. */
export interface Placed {
  readonly name: string;
  readonly lease: LeaseId;
  readonly place: bigint;
}

export class Namespace {
  /** Absolute: `/incumbent/my-app`. */
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  path(key: Key): string {
    return [this.root, ...key.split('/').map(escapeName)].join('/');
  }

  key(path: string): Key {
    const names = path.slice(this.root.length + 1).split('/');
    return names.map(unescapeName).join('/');
  }

  /** Undefined for what is no key: a node that others stand under. */
  entry(path: string, { data, stat }: Data): Entry | undefined {
    if (data === undefined) return undefined;
    const [key, lease, placed] = [this.key(path), leaseOf(stat), placedIn(lastOf(path))];
    const entry = { key, name: lastOf(key), value: data, revision: revisionOf(stat), order: stat.czxid };
    if (lease === undefined) return entry;
    return placed?.lease === lease ? { ...entry, name: placed.name, order: placed.place, lease } : { ...entry, lease };
  }

  /** An entry whose path is all that is known of it. */
  bareEntry(path: string): Entry {
    const [key, placed] = [this.key(path), placedIn(lastOf(path))];
    return placed === undefined
      ? { key, name: lastOf(key), value: new Uint8Array(), revision: '', order: 0n }
      : this.placedEntry(path, placed);
  }

  /** A queue entry whose name is all that is known of it. */
  placedEntry(path: string, { name, lease, place }: Placed): Entry {
    return { key: this.key(path), name, value: new Uint8Array(), revision: '', order: place, lease };
  }
}

/** What to ask the server to put a place behind. */
export function unplacedName(name: string, lease: LeaseId): string {
  return `${name}~z${lease}~`;
}

export function placedIn(nodeName: string): Placed | undefined {
  const place = placeIn(nodeName);
  if (place === undefined) return undefined;
  const beforePlace = nodeName.lastIndexOf('~');
  const beforeLease = nodeName.lastIndexOf('~', beforePlace - 1);
  return { name: nodeName.slice(0, beforeLease), lease: nodeName.slice(beforeLease + 2, beforePlace), place: BigInt(place) };
}

/** The place alone, which is what thousands of names are sorted by. Undefined for a node that has none. */
export function placeIn(nodeName: string): number | undefined {
  if (!PLACED.test(nodeName)) return undefined;
  // ZooKeeper counts with 32 bits, and beyond the highest goes on with the lowest.
  return Number(nodeName.slice(nodeName.lastIndexOf('~') + 1)) >>> 0;
}

/** The version, and the session that the node lives by if it does: a node has that for life, so that who changes it must know. */
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

/** Version -2, which no node has, for what is no revision. */
export function readRevision(revision: Revision): KnownRevision {
  const [, version, lease] = /^(\d{1,10})(?:@([0-9a-f]{1,16}))?$/.exec(revision) ?? [];
  const known = version === undefined ? NO_VERSION : Number(version);
  return { version: known > MAX_VERSION ? NO_VERSION : known, lease };
}

/** In hexadecimal, as ZooKeeper's own tools show it. */
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

/** ZooKeeper has no nodes of the names `.` and `..`. */
function escapeName(name: string): string {
  return name === '.' || name === '..' ? name.replaceAll('.', '%2e') : name;
}

function unescapeName(name: string): string {
  return name.replaceAll('%2e', '.');
}
