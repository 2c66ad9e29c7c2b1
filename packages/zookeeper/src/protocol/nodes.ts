/** Operations on one node. Paths are absolute, from the server's root. */

import type { Reader, Writer } from './jute.ts';
import type { Operation } from './operation.ts';

/** All permissions: 1 read, 2 write, 4 create, 8 delete, 16 admin. */
const ALL = 31;

/** Who may do what to a node. A node does not inherit the ACL of its parent. */
export interface Acl {
  /** A sum of 1 read, 2 write, 4 create, 8 delete and 16 admin. */
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

/** Anybody may do anything. */
export const OPEN: readonly Acl[] = [{ permissions: ALL, scheme: 'world', id: 'anyone' }];

/**
 * Only the creator of the node may use it, under each identity that the creator has shown. Servers
 * refuse this ACL to a client that has shown none.
 */
export const CREATOR_ONLY: readonly Acl[] = [{ permissions: ALL, scheme: 'auth', id: '' }];

/** What a server stores about a node besides the node's data. */
export interface Stat {
  /** The transaction that created the node. Unique to this node. */
  readonly czxid: bigint;
  /** The transaction that last changed the node's data. */
  readonly mzxid: bigint;
  /** The number of changes of the data. Starts at 0 again when the node is created again. */
  readonly version: number;
  /** The number of changes of the list of children. */
  readonly cversion: number;
  /** The session that the node lives by; 0 if the node is not ephemeral. */
  readonly ephemeralOwner: bigint;
  readonly dataLength: number;
  readonly numChildren: number;
  /** The transaction that last added or removed a child. */
  readonly pzxid: bigint;
}

/**
 * Whether a node is ephemeral, and whether the server appends a counter of ten digits to its name.
 */
const CreateMode = { persistent: 0, ephemeral: 1, persistentSequential: 2, ephemeralSequential: 3, container: 4 } as const;

/** Matches every version of a node. */
export const ANY_VERSION = -1;

export interface CreateRequest {
  readonly path: string;
  /** Undefined: the node holds nothing. This differs from holding no bytes. */
  readonly data: Uint8Array | undefined;
  readonly acls: readonly Acl[];
  readonly mode: keyof typeof CreateMode;
}

export interface CreateAnswer {
  /** The path of the node: with the counter, if the node is sequential. */
  readonly path: string;
  readonly stat: Stat;
}

export interface Versioned {
  readonly path: string;
  /** The version that the node must have; {@link ANY_VERSION} for any. */
  readonly version: number;
}

export interface SetDataRequest extends Versioned {
  readonly data: Uint8Array;
}

export interface ReadRequest {
  readonly path: string;
  /** Sets a one-shot watch. Default false. */
  readonly watch?: boolean;
}

export function readStat(reader: Reader): Stat {
  const [czxid, mzxid] = [reader.long(), reader.long()];
  // The server's wall clock at the creation and at the last change, which nothing here uses.
  reader.long();
  reader.long();
  const [version, cversion] = [reader.int(), reader.int()];
  // The number of changes of the ACL.
  reader.int();
  const [ephemeralOwner, dataLength, numChildren, pzxid] = [reader.long(), reader.int(), reader.int(), reader.long()];
  return { czxid, mzxid, version, cversion, ephemeralOwner, dataLength, numChildren, pzxid };
}

/** Writes a stat as servers do: for servers that tests simulate. */
export function writeStat(writer: Writer, stat: Stat): Writer {
  writer.long(stat.czxid).long(stat.mzxid).long(0n).long(0n).int(stat.version).int(stat.cversion).int(0);
  return writer.long(stat.ephemeralOwner).int(stat.dataLength).int(stat.numChildren).long(stat.pzxid);
}

function writeAcls(writer: Writer, acls: readonly Acl[]): Writer {
  return writer.vector(acls, (one, { permissions, scheme, id }) => one.int(permissions).string(scheme).string(id));
}

export function writeCreate(writer: Writer, { path, data, acls, mode }: CreateRequest): void {
  writeAcls(writer.string(path).optionalBuffer(data), acls).int(CreateMode[mode]);
}

export function writeVersioned(writer: Writer, { path, version }: Versioned): void {
  writer.string(path).int(version);
}

export function writeSetData(writer: Writer, { path, data, version }: SetDataRequest): void {
  writer.string(path).buffer(data).int(version);
}

function writeRead(writer: Writer, { path, watch = false }: ReadRequest): void {
  writer.string(path).bool(watch);
}

function readCreated(reader: Reader): CreateAnswer {
  return { path: reader.string(), stat: readStat(reader) };
}

/**
 * Creates a node. `NODEEXISTS`, `NONODE` (no parent), `NOCHILDRENFOREPHEMERALS`. This is `create2`
 * of ZooKeeper 3.5 and newer, whose answer has the stat.
 */
export const create: Operation<CreateRequest, CreateAnswer> = {
  name: 'create',
  type: 15,
  encode: writeCreate,
  decode: readCreated,
};

/** Deletes a node. `NONODE`, `BADVERSION`, `NOTEMPTY` (the node has children). */
export const remove: Operation<Versioned, void> = { name: 'delete', type: 2, encode: writeVersioned, decode: () => undefined };

/** Replaces a node's data, and answers with the new stat. `NONODE`, `BADVERSION`. */
export const setData: Operation<SetDataRequest, Stat> = { name: 'setData', type: 5, encode: writeSetData, decode: readStat };

/** Reads a stat. With `NONODE`, a watch that was asked for reports when the node is created. */
export const exists: Operation<ReadRequest, Stat> = { name: 'exists', type: 3, encode: writeRead, decode: readStat };

export interface Data {
  /** Undefined if the node holds nothing, which differs from holding no bytes. */
  readonly data: Uint8Array | undefined;
  readonly stat: Stat;
}

export function readData(reader: Reader): Data {
  return { data: reader.optionalBuffer(), stat: readStat(reader) };
}

/** Reads a node as the connected server has it, which may be stale. `NONODE` sets no watch. */
export const getData: Operation<ReadRequest, Data> = {
  name: 'getData',
  type: 4,
  encode: writeRead,
  decode: readData,
};

export interface Children {
  /** The names of the children, in no order. */
  readonly children: readonly string[];
  readonly stat: Stat;
}

/**
 * Reads the names of a node's children. May be stale, like {@link getData}. `NONODE` sets no watch.
 */
export const getChildren: Operation<ReadRequest, Children> = {
  name: 'getChildren',
  type: 12,
  encode: writeRead,
  decode: (reader) => ({ children: reader.vector((one) => one.string()), stat: readStat(reader) }),
};

/**
 * Asks the server to catch up with the ensemble's leader. The server answers when it has; reads of
 * this session after it see what the leader had committed. Takes a path.
 */
export const sync: Operation<string, void> = {
  name: 'sync',
  type: 9,
  encode: (writer, path) => void writer.string(path),
  decode: (reader) => void reader.string(),
};

/**
 * Ends the session. When the answer comes, the session's ephemeral nodes are gone. The server then
 * closes the connection.
 */
export const closeSession: Operation<void, void> = { name: 'closeSession', type: -11, encode: () => {}, decode: () => undefined };
