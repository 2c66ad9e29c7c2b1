/** Transactions: all of their operations happen, or none. */

import type { AttemptOptions } from '@incumbent/network';

import type { Client } from '../client/client.ts';
import { fields, index, items, parse, text } from './json.ts';
import { CONSISTENT, pairOf, type Pair } from './kv.ts';

/** What servers take in one transaction. */
export const MAX_OPERATIONS = 64;

/** What they take for its whole text, in bytes, unless they were set up otherwise. */
export const MAX_BODY_BYTES: number = 512 * 1_024;

interface Write {
  readonly path: string;
  readonly value: Uint8Array;
  /** Kept beside the value. A write that changes neither of them changes no index. */
  readonly flags: number;
}

export type Operation =
  | { readonly verb: 'check-not-exists'; readonly path: string }
  | { readonly verb: 'check-index'; readonly path: string; readonly index: number }
  /** Index 0: there is no such key. Leaves whose the key is as it was. */
  | (Write & { readonly verb: 'cas'; readonly index: number })
  | (Write & { readonly verb: 'lock' | 'unlock'; readonly session: string })
  | { readonly verb: 'delete'; readonly path: string };

export type TxnAnswer =
  /** In the order of the operations; without those that have nothing to tell. Their values are left out. */
  | { readonly done: true; readonly pairs: readonly Pair[] }
  /** Nothing happened. */
  | { readonly done: false; readonly errors: readonly { readonly operation: number; readonly what: string }[] };

export function encode(operations: readonly Operation[]): string {
  return JSON.stringify(operations.map((operation) => ({ KV: wireOf(operation) })));
}

/** `body` is of `encode`. */
export async function transact(client: Client, body: string, options: AttemptOptions): Promise<TxnAnswer> {
  // One that only checks is a read to Consul.
  const answer = await client.request({ method: 'PUT', path: '/v1/txn', query: CONSISTENT, body, answers: [409] }, options);
  const told = fields(parse(answer.text));
  if (answer.status === 200) return { done: true, pairs: items(told.get('Results')).map((item) => pairOf(fields(item).get('KV'))) };
  const errors = items(told.get('Errors')).map(fields);
  return { done: false, errors: errors.map((error) => ({ operation: index(error, 'OpIndex'), what: text(error, 'What') })) };
}

function wireOf(operation: Operation): object {
  const wire = { Verb: operation.verb, Key: operation.path };
  switch (operation.verb) {
    case 'check-not-exists':
    case 'delete':
      return wire;
    case 'check-index':
      return { ...wire, Index: operation.index };
    case 'cas':
      return { ...wire, ...writeOf(operation), Index: operation.index };
    case 'lock':
    case 'unlock':
      return { ...wire, ...writeOf(operation), Session: operation.session };
    default:
      return operation satisfies never;
  }
}

function writeOf({ value, flags }: Write): object {
  return { Value: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'), Flags: flags };
}
