/** etcd's `Watch` service: one stream of requests and answers for any number of watches. */

import { readHeader, readKeyValue, type KeyRange, type KeyValue } from './kv.ts';
import { MalformedMessage, Reader, Writer } from './protobuf.ts';

export const WATCH_PATH = '/etcdserverpb.Watch/Watch';

/** A change of one key. After a deletion, `kv` has only the key and the revision. */
export interface WatchEvent {
  readonly deleted: boolean;
  readonly kv: KeyValue;
}

export interface WatchAnswer {
  /** The revision that the answering member has reached. */
  readonly revision: bigint;
  /** The id of the watch. -1 if none was created. */
  readonly id: bigint;
  /** This answers a creation. Servers answer creations in the order of the requests. */
  readonly created: boolean;
  /** The watch has ended, or was not created. */
  readonly canceled: boolean;
  /** The reason for the end, as the server's text. May be empty. */
  readonly reason: string;
  /** Above 0: the watch ended because its start revision was compacted. */
  readonly compactRevision: bigint;
  /** All events of one revision are in one answer. */
  readonly events: readonly WatchEvent[];
}

/** Requests every change of a range from a revision on. */
export function encodeWatchCreation(range: KeyRange, startRevision: bigint): Uint8Array {
  const creation = new Writer().string(1, range.key).int64(3, startRevision);
  if (range.end !== undefined) creation.string(2, range.end);
  return new Writer().message(1, creation).finish();
}

export function encodeWatchCancellation(id: bigint): Uint8Array {
  return new Writer().message(2, new Writer().int64(1, id)).finish();
}

/** Requests the revision that the member has reached. The answer has no events. */
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
