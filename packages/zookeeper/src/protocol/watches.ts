/** Watches that stay, and what servers tell of. */

import type { Reader } from './jute.ts';
import type { Operation } from './operation.ts';

/** `node`: its data, its making and its end, and its children's coming and going. `tree`: data, making and end, of it and of all below it. */
export type WatchMode = 'node' | 'tree';

const Mode = { node: 0, tree: 1 } as const;

/** ZooKeeper's number for watches of whatever kind. */
const ANY_KIND = 3;

export interface AddWatchRequest {
  readonly path: string;
  readonly mode: WatchMode;
}

/** The node need not exist. `UNIMPLEMENTED` before 3.6, and then the server ends the connection. A path has one mode: the last one. */
export const addWatch: Operation<AddWatchRequest, void> = {
  name: 'addWatch',
  type: 106,
  encode: (writer, { path, mode }) => void writer.string(path).int(Mode[mode]),
  decode: () => undefined,
};

/** Takes the path. `NOWATCHER` where there is none. */
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

/** Something happened to a node. */
export interface WatchEvent {
  readonly path: string;
  /** `other`: a kind that nobody has named yet. */
  readonly kind: EventKind;
}

/** Throws `MalformedRecord`. */
export function readEvent(reader: Reader): WatchEvent {
  const type = reader.int();
  // The state of the session, by the server; the session knows better.
  reader.int();
  return { path: reader.string(), kind: kinds.get(type) ?? 'other' };
}
