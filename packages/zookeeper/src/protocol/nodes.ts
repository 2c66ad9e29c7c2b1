/** Operations on one node. Paths are absolute, from the server's root. */

import { writeAcls, type Acl } from './acl.ts';
import type { Reader, Writer } from './jute.ts';
import type { Operation } from './operation.ts';
import { readStat, type Stat } from './stat.ts';

/** How a node lives, and whether its name gets ten digits that count up. */
const CreateMode = { persistent: 0, ephemeral: 1, persistentSequential: 2, ephemeralSequential: 3, container: 4 } as const;

/** The version that every node has. */
export const ANY_VERSION = -1;

export interface CreateRequest {
  readonly path: string;
  /** Undefined: the node holds nothing, which is not the same as no bytes. */
  readonly data: Uint8Array | undefined;
  readonly acls: readonly Acl[];
  readonly mode: keyof typeof CreateMode;
}

export interface CreateAnswer {
  /** The path that it got: with the digits, where it is sequential. */
  readonly path: string;
  readonly stat: Stat;
}

export interface Versioned {
  readonly path: string;
  /** {@link ANY_VERSION} for whatever it is. 0 is a version like any other. */
  readonly version: number;
}

export interface SetDataRequest extends Versioned {
  readonly data: Uint8Array;
}

export interface ReadRequest {
  readonly path: string;
  /** Leaves a one-shot watch behind. */
  readonly watch?: boolean;
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

/** `NODEEXISTS`, `NONODE` (no parent), `NOCHILDRENFOREPHEMERALS`. With its stat: `create2`, for servers from 3.5 on. */
export const create: Operation<CreateRequest, CreateAnswer> = {
  name: 'create',
  type: 15,
  encode: writeCreate,
  decode: readCreated,
};

/** `NONODE`, `BADVERSION`, `NOTEMPTY` (it has children). */
export const remove: Operation<Versioned, void> = { name: 'delete', type: 2, encode: writeVersioned, decode: () => undefined };

/** `NONODE`, `BADVERSION`. Answers with the new stat. */
export const setData: Operation<SetDataRequest, Stat> = { name: 'setData', type: 5, encode: writeSetData, decode: readStat };

/** `NONODE`; then a watch stands for the node's making. */
export const exists: Operation<ReadRequest, Stat> = { name: 'exists', type: 3, encode: writeRead, decode: readStat };

export interface Data {
  /** Undefined where the node holds nothing, not even no bytes. */
  readonly data: Uint8Array | undefined;
  readonly stat: Stat;
}

export function readData(reader: Reader): Data {
  return { data: reader.optionalBuffer(), stat: readStat(reader) };
}

/** `NONODE`, and no watch then. As the server that answers knows it: it may be behind, so send {@link sync} before where that matters. */
export const getData: Operation<ReadRequest, Data> = {
  name: 'getData',
  type: 4,
  encode: writeRead,
  decode: readData,
};

export interface Children {
  /** Names, in no order. */
  readonly children: readonly string[];
  readonly stat: Stat;
}

/** `NONODE`, and no watch then. May be behind, like {@link getData}. */
export const getChildren: Operation<ReadRequest, Children> = {
  name: 'getChildren',
  type: 12,
  encode: writeRead,
  decode: (reader) => ({ children: reader.vector((one) => one.string()), stat: readStat(reader) }),
};

/** Takes a path. Answered when the server has caught up with the ensemble's leader; what is asked on this session after it sees that. */
export const sync: Operation<string, void> = {
  name: 'sync',
  type: 9,
  encode: (writer, path) => void writer.string(path),
  decode: (reader) => void reader.string(),
};

/** Ends the session: all that lives by it is gone when the answer comes, and the server closes the connection. */
export const closeSession: Operation<void, void> = { name: 'closeSession', type: -11, encode: () => {}, decode: () => undefined };
