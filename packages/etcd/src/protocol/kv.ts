/**
 * etcd's `KV` service: ranges and transactions. Field numbers are from `rpc.proto` and `kv.proto`.
 */

import { MalformedMessage, Reader, Writer } from './protobuf.ts';
import { MAX_MESSAGE_BYTES, type Rpc } from './rpc.ts';

export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  /** 0 for none. */
  readonly lease: bigint;
}

/** One key, or all keys from `key` to `end`, without `end`. */
export interface KeyRange {
  readonly key: string;
  readonly end?: string;
}

export interface RangeRequest extends KeyRange {
  /** By creation: oldest or newest first. By key if left out. */
  readonly byCreation?: 'ascending' | 'descending';
  /** Above 0. */
  readonly limit?: number;
  /** Omits the values. */
  readonly keysOnly?: boolean;
  /** Only keys that were created at this revision or before. Above 0. */
  readonly maxCreateRevision?: bigint;
}

export interface RangeAnswer {
  /** The revision of the store that was read. */
  readonly revision: bigint;
  readonly kvs: readonly KeyValue[];
}

/** `created: 0n` is true if the key does not exist. */
export type Compare = { readonly key: string; readonly created: bigint } | { readonly key: string; readonly modified: bigint };

export type WriteOperation =
  | { readonly put: string; readonly value: Uint8Array; readonly lease: bigint | 'keep' }
  | { readonly delete: string };

type Operation = WriteOperation | { readonly range: RangeRequest };

export interface TxnRequest {
  /** If all are true, `success` is executed, otherwise `failure`. */
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export interface TxnAnswer {
  readonly succeeded: boolean;
  /** The revision of the store after the transaction, and of every key that it wrote. */
  readonly revision: bigint;
  /** One for each executed operation. Undefined for an operation that is not a range. */
  readonly ranges: readonly (RangeAnswer | undefined)[];
}

const SORT_ORDER = { ascending: 1n, descending: 2n } as const;
const SORT_BY_CREATION = 2n;
const COMPARE_CREATED = 1n;
const COMPARE_MODIFIED = 2n;

const EMPTY = new Uint8Array(0);

function rangeMessage(request: RangeRequest): Writer {
  const message = new Writer().string(1, request.key);
  if (request.end !== undefined) message.string(2, request.end);
  if (request.limit !== undefined) message.int64(3, BigInt(request.limit));
  if (request.byCreation !== undefined) message.int64(5, SORT_ORDER[request.byCreation]).int64(6, SORT_BY_CREATION);
  if (request.keysOnly === true) message.bool(8, true);
  if (request.maxCreateRevision !== undefined) message.int64(13, request.maxCreateRevision);
  return message;
}

function compareMessage(compare: Compare): Writer {
  // Field 1, the comparison, is "equal" by default.
  if ('created' in compare) return new Writer().int64(2, COMPARE_CREATED).string(3, compare.key).int64(5, compare.created);
  return new Writer().int64(2, COMPARE_MODIFIED).string(3, compare.key).int64(6, compare.modified);
}

function putMessage(put: string, value: Uint8Array, lease: bigint | 'keep'): Writer {
  const message = new Writer().string(1, put).bytes(2, value);
  return lease === 'keep' ? message.bool(6, true) : message.int64(3, lease);
}

function operationMessage(operation: Operation): Writer {
  if ('range' in operation) return new Writer().message(1, rangeMessage(operation.range));
  if ('put' in operation) return new Writer().message(2, putMessage(operation.put, operation.value, operation.lease));
  return new Writer().message(3, new Writer().string(1, operation.delete));
}

function txnMessage(request: TxnRequest): Writer {
  const message = new Writer();
  for (const compare of request.compare) message.message(1, compareMessage(compare));
  for (const operation of request.success) message.message(2, operationMessage(operation));
  for (const operation of request.failure) message.message(3, operationMessage(operation));
  return message;
}

/** The revision in an answer's header. */
export function readHeader(reader: Reader): bigint {
  let revision = 0n;
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 3) revision = reader.int64();
  }
  return revision;
}

export function readKeyValue(reader: Reader): KeyValue {
  let key = '';
  let value: Uint8Array = EMPTY;
  let [createRevision, modRevision, lease] = [0n, 0n, 0n];
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) key = reader.string();
    else if (field === 2) createRevision = reader.int64();
    else if (field === 3) modRevision = reader.int64();
    else if (field === 5) value = reader.bytes();
    else if (field === 6) lease = reader.int64();
  }
  return { key, value, createRevision, modRevision, lease };
}

function readRange(reader: Reader): RangeAnswer {
  let revision = 0n;
  const kvs: KeyValue[] = [];
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) revision = readHeader(reader.message());
    else if (field === 2) kvs.push(readKeyValue(reader.message()));
  }
  return { revision, kvs };
}

function readOperationAnswer(reader: Reader): RangeAnswer | undefined {
  let range: RangeAnswer | undefined;
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) range = readRange(reader.message());
  }
  return range;
}

function readTxn(reader: Reader): TxnAnswer {
  let revision = 0n;
  let succeeded = false;
  const ranges: (RangeAnswer | undefined)[] = [];
  for (let field = reader.next(); field !== undefined; field = reader.next()) {
    if (field === 1) revision = readHeader(reader.message());
    else if (field === 2) succeeded = reader.bool();
    else if (field === 3) ranges.push(readOperationAnswer(reader.message()));
  }
  return { succeeded, revision, ranges };
}

/** Watches start at the revision. An answer without one would look like a very old one. */
function withRevision<T extends { readonly revision: bigint }>(answer: T): T {
  if (answer.revision <= 0n) throw new MalformedMessage('the answer has no revision');
  return answer;
}

/** A call of etcd's `KV` service, whose answer shows the revision of the cluster. */
function kvCall<Request, Answer extends { readonly revision: bigint }>(
  name: string,
  messageOf: (request: Request) => Writer,
  readAnswer: (reader: Reader) => Answer,
): Rpc<Request, Answer> {
  return {
    name,
    path: `/etcdserverpb.KV/${name}`,
    maxBytes: MAX_MESSAGE_BYTES,
    encode: (request) => messageOf(request).finish(),
    decode: (message) => withRevision(readAnswer(new Reader(message))),
    revisionOf: ({ revision }) => revision,
  };
}

/** Linearizable. */
export const range: Rpc<RangeRequest, RangeAnswer> = kvCall('Range', rangeMessage, readRange);

export const txn: Rpc<TxnRequest, TxnAnswer> = kvCall('Txn', txnMessage, readTxn);
