/** etcd's `Watch` service: one stream of requests and answers for any number of watches. */

import { readHeader, readKeyValue, type KeyRange, type KeyValue } from './kv.ts';
import { MalformedMessage, Reader, Writer } from './protobuf.ts';

export const WATCH_PATH = '/etcdserverpb.Watch/Watch';

/** A change of one key. Of a deletion `kv` has the key only. */
export interface WatchEvent {
  readonly deleted: boolean;
  readonly kv: KeyValue;
}

export interface WatchAnswer {
  /** The revision up to which the member that answers has come. */
  readonly revision: bigint;
  /** Which watch; -1 where none was made. */
  readonly id: bigint;
  /** The answer to a creation. Creations are answered in the order in which they were asked for. */
  readonly created: boolean;
  /** The watch has ended, or was not made. */
  readonly canceled: boolean;
  /** Why, in the server's words; may be empty. */
  readonly reason: string;
  /** Above 0: the watch ended because what it asked for is compacted away. */
  readonly compactRevision: bigint;
  /** All events of a revision come in one answer. */
  readonly events: readonly WatchEvent[];
}

/** Asks for every change of a range from a revision on. */
export function encodeWatchCreation(range: KeyRange, startRevision: bigint): Uint8Array {
  const creation = new Writer().string(1, range.key).int64(3, startRevision);
  if (range.end !== undefined) creation.string(2, range.end);
  return new Writer().message(1, creation).finish();
}

export function encodeWatchCancellation(id: bigint): Uint8Array {
  return new Writer().message(2, new Writer().int64(1, id)).finish();
}

/** Asks how far the member has come: the answer has a revision and no events. */
export function encodeProgressRequest(): Uint8Array {
  return new Writer().message(3, new Writer()).finish();
}

const DELETE = 1n;

function readEvent(reader: Reader): WatchEvent {
  let deleted = false;
  let kv: KeyValue | undefined;
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) deleted = reader.int64() === DELETE;
    else if (field === 2) kv = readKeyValue(reader.message());
  }
  if (kv === undefined) throw new MalformedMessage('an event has no key');
  return { deleted, kv };
}

export function decodeWatchAnswer(message: Uint8Array): WatchAnswer {
  const reader = new Reader(message);
  let [revision, id, compactRevision] = [0n, 0n, 0n];
  let [created, canceled] = [false, false];
  let reason = '';
  const events: WatchEvent[] = [];
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) revision = readHeader(reader.message());
    else if (field === 2) id = reader.int64();
    else if (field === 3) created = reader.bool();
    else if (field === 4) canceled = reader.bool();
    else if (field === 5) compactRevision = reader.int64();
    else if (field === 6) reason = reader.string();
    else if (field === 11) events.push(readEvent(reader.message()));
  }
  return { revision, id, created, canceled, reason, compactRevision, events };
}
