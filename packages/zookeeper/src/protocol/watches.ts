/** Persistent watches, and the events that servers send. */

import type { Reader } from './jute.ts';
import type { Operation } from './operation.ts';

/**
 * `node`: reports when the node is created, changed or deleted, and when its children change.
 * `tree`: reports when the node, or any node below it, is created, changed or deleted.
 */
export type WatchMode = 'node' | 'tree';

const Mode = { node: 0, tree: 1 } as const;

/** ZooKeeper's number for watches of all kinds. */
const ANY_KIND = 3;

export interface AddWatchRequest {
  readonly path: string;
  readonly mode: WatchMode;
}

/**
 * Watches a node, which need not exist. A path has one mode, the one of the last request. Servers
 * before 3.6 answer `UNIMPLEMENTED` and close the connection.
 */
export const addWatch: Operation<AddWatchRequest, void> = {
  name: 'addWatch',
  type: 106,
  encode: (writer, { path, mode }) => void writer.string(path).int(Mode[mode]),
  decode: () => undefined,
};

/** Removes the watches of a path. `NOWATCHER` if there is none. */
export const removeWatch: Operation<string, void> = {
  name: 'removeWatches',
  type: 18,
  encode: (writer, path) => void writer.string(path).int(ANY_KIND),
  decode: () => undefined,
};

type EventKind = 'created' | 'deleted' | 'dataChanged' | 'childrenChanged' | 'other';

const kinds: ReadonlyMap<number, EventKind> = new Map([
  [1, 'created'],
  [2, 'deleted'],
  [3, 'dataChanged'],
  [4, 'childrenChanged'],
]);

/** A change of a node. */
export interface WatchEvent {
  readonly path: string;
  /** `other`: a kind that this client does not know. */
  readonly kind: EventKind;
}

/** Throws `MalformedRecord`. */
export function readEvent(reader: Reader): WatchEvent {
  const type = reader.int();
  // The state of the session as the server sees it. The session tracks its own state.
  reader.int();
  return { path: reader.string(), kind: kinds.get(type) ?? 'other' };
}
